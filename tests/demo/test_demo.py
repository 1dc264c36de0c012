"""The demo as a user starts it: every step shown, its proof can fail, and nothing is left behind (A16, A17)."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from syncova_project.demo.stage import stop_leftovers_in
from syncova_project.demo.workspace import base_directory, remove_dead

CLONE = Path(__file__).resolve().parents[2]
STEPS = (
    "Servers of its own",
    "An encrypted repository, made on its medium and registered",
    "A job, made over the API",
    "The first run",
    "The second run: nothing changed",
    "The worker is killed in the middle of a run",
    "One byte flipped in a copy of the repository",
    "A file name known to be inside is searched for in the repository's bytes",
    "The database is stopped; restored from repository and password alone",
    "Figures",
    "Cleaned up",
)
pytestmark = pytest.mark.timeout(600)


def environment() -> dict[str, str]:
    """Return the environment of a demo: servers named there must never be touched."""
    names = ("PATH", "HOME", "LANG", "TMPDIR")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    hostile = {"SYNCOVA_DATABASE_URL": "postgresql://nobody@192.0.2.1/none", "SYNCOVA_BROKER_URL": "redis://192.0.2.1"}
    return {**kept, **hostile, "PYTHONPATH": str(CLONE), "PYTHONNOUSERSITE": "1"}


def start(*words: str) -> "subprocess.Popen[str]":
    """Start a demo whose output can be read."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "syncova_project.demo", *words],
        cwd=CLONE,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def place_of(output: str) -> Path:
    """Return the private directory that the first line names."""
    found = re.search(r"on servers of its own in (\S+)", output)
    assert found is not None, output
    return Path(found[1])


@pytest.fixture
def small_tree(tmp_path: Path) -> Path:
    """Return a small tree of the user's own."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(20):
        (tree / f"a file with a name that is long enough {number:03}").write_bytes(os.urandom(2000))
    return tree


def test_every_step_is_shown_and_nothing_is_left() -> None:
    demo = start()
    output, errors = demo.communicate()
    assert demo.returncode == 0, output + errors
    assert [line.split(". ", 1)[1] for line in output.splitlines() if re.match(r"\d+\. ", line)] == list(STEPS)
    assert "0 bytes of content read" in output
    assert "run failed (transient): " in output
    assert "(retry): succeeded" in output
    assert "found, exit 13: " in output
    assert "0 hits for " in output
    assert "identical: " in output
    assert not place_of(output).exists()


def test_the_proof_can_fail(small_tree: Path) -> None:
    demo = start(str(small_tree), "--spoil")
    output, errors = demo.communicate()
    assert demo.returncode == 1, output + errors
    assert "content differs" in output
    code, _, message = errors.strip().removeprefix("syncova demo: ").partition(": ")
    assert (code, "1 differences between the tree and what was restored" in message) == ("DEMO_FAILED", True), errors
    assert not place_of(output).exists()


def test_the_next_demo_removes_what_a_killed_one_left(small_tree: Path) -> None:
    demo = start(str(small_tree))
    assert demo.stdout is not None
    output = ""
    while "PostgreSQL, Valkey, web" not in output:
        line = demo.stdout.readline()
        assert line, output
        output += line
    demo.send_signal(signal.SIGKILL)
    demo.wait()
    place = place_of(output)
    assert place.exists()
    # A child that was just being started holds the lock for a moment longer than the demo lived.
    end = time.monotonic() + 30
    while place.exists() and time.monotonic() < end:
        remove_dead(stop_leftovers_in)
        time.sleep(0.2)
    assert not place.exists()
    assert not processes_in(place)


def test_a_path_that_is_missing_is_named(tmp_path: Path) -> None:
    demo = start(str(tmp_path / "none"))
    output, errors = demo.communicate()
    assert (demo.returncode, output) == (1, "")
    assert f"{tmp_path / 'none'} does not exist" in errors


def test_an_interrupt_cleans_up(small_tree: Path) -> None:
    demo = start(str(small_tree))
    assert demo.stdout is not None
    output = demo.stdout.readline()
    time.sleep(1)
    demo.send_signal(signal.SIGINT)
    rest, errors = demo.communicate()
    assert demo.returncode == 130, output + rest + errors
    assert not place_of(output).exists()


def processes_in(place: Path) -> list[str]:
    """Return the command lines of processes that name the directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(place) in line:
            found.append(line)
    return found


def test_demos_live_outside_the_clone() -> None:
    assert not base_directory().is_relative_to(CLONE)
