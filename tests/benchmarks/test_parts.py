"""The parts of `bench engine` that compute: medians and ratios, changes of a tree, what a process took."""

import sys
from pathlib import Path

import pytest

from tests.benchmarks.measuring import CommandFailedError, Taken, measure
from tests.benchmarks.rounds import Result
from tests.benchmarks.summary import cells, failures, summarise
from tests.benchmarks.trees import change_one_percent, leave_four_fifths, make_disk_image, make_small_files

_MIB = 1 << 20


def result(wall: float, cpu: float, *, failure: str = "") -> Result:
    """Return what a tool took for a first backup."""
    return Result({"first backup": Taken(wall, cpu, 10 * _MIB)}, {"first backup": 5 * _MIB}, failure)


def test_figures_are_medians_and_ratios_are_medians_of_ratios() -> None:
    """A round in which the whole machine was slow does not move the ratio: 9/6 alone is not 2."""
    rounds = [
        {"syncova": result(1, 1), "restic": result(2, 3)},
        {"syncova": result(6, 2), "restic": result(9, 6)},
        {"syncova": result(2, 1), "restic": result(4, 4)},
    ]
    ours, theirs = summarise(rounds)
    assert (ours["wall_seconds"], ours["wall_ratio"], theirs["wall_seconds"]) == (2, None, 4)
    assert (theirs["wall_ratio"], theirs["cpu_ratio"]) == (2, 3)
    assert list(cells([ours, theirs])) == [
        ("first backup", "syncova", "2.00", "1.00", "10", "5.0", "", ""),
        ("", "restic", "4.00", "4.00", "10", "5.0", "2.00", "3.00"),
    ]


def test_a_failure_is_told_with_its_round() -> None:
    """The first of them, and what was measured before it stays."""
    rounds = [{"borg": result(1, 1)}, {"borg": result(1, 1, failure="restore: exit 2: no")}]
    assert failures(rounds) == {"borg": "round 2, restore: exit 2: no"}
    assert len(summarise(rounds)) == 1


def test_one_percent_changes_and_a_fifth_goes(tmp_path: Path) -> None:
    """One file of a hundred, and one region of a hundred of a large file; lengths stay. Then one of five goes."""
    for number in range(300):
        (tmp_path / f"{number:03}").write_bytes(b"x" * 50)
    large = bytes(200 << 16)
    (tmp_path / "large").write_bytes(large)
    change_one_percent(tmp_path, seed=1)
    assert sum(path.read_bytes() != b"x" * 50 for path in tmp_path.glob("[0-9]*")) == 3
    now = (tmp_path / "large").read_bytes()
    changed = [at for at in range(200) if now[at << 16 : (at + 1) << 16] != large[: 1 << 16]]
    assert (len(changed), len(now)) == (2, len(large))
    leave_four_fifths(tmp_path)
    assert len(list(tmp_path.glob("[0-9]*"))) == 240
    assert (tmp_path / "large").stat().st_size == 160 << 16


def test_trees_are_made_as_large_as_asked(tmp_path: Path) -> None:
    """Files of this machine, and an image of them."""
    small = make_small_files(tmp_path / "small", 20)
    assert sum(path.is_file() for path in small.path.rglob("*")) == 20
    image = make_disk_image(tmp_path / "image", 100_000)
    assert (image.path / "disk.img").stat().st_size == 100_000


def test_children_count(tmp_path: Path) -> None:
    """Memory of a child that a command starts is added, and what a failing one said last is told."""
    child = "import time; held = bytearray(60 << 20); time.sleep(0.3)"
    parent = f"import subprocess, sys; held = bytearray(40 << 20); subprocess.run([sys.executable, '-c', {child!r}])"
    taken = measure([sys.executable, "-c", parent], {}, tmp_path)
    assert taken.peak_bytes > (60 if sys.platform != "linux" else 100) << 20
    assert taken.cpu_seconds > 0
    with pytest.raises(CommandFailedError, match="exit 4: last"):
        measure(["sh", "-c", "echo first; echo last; exit 4"], {}, tmp_path)
