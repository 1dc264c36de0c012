"""What a medium does to runs: it is full, it is the source's own child, it outlives the database (1.19-1.21)."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.database_time import database_now
from jobs.services import NewJob, SourceInput, job_create
from jobs.states import FailureClass, RunState
from tests.workers import scenario
from tests.workers.harness import PROJECT, Stack

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")


@contextlib.contextmanager
def small_medium(place: Path, size: str) -> Iterator[Path]:
    """Mount a file system of `size` at `place`."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "syncova-test", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def alone(module: str, *words: str, **variables: str) -> tuple[int, dict[str, Any]]:
    """Run a command that has nothing but the medium, the password and `variables`; return exit code and JSON."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", module, *words, "--json"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT), "SYNCOVA_DATA_DIR": "/nonexistent", **variables},
        capture_output=True,
        check=False,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, answer


def password_file(directory: Path) -> str:
    """Write the repository's password where only its owner can read it."""
    path = directory / "password"
    path.touch(mode=0o600)
    path.write_bytes(scenario.PASSWORD)
    return str(path)


def restored(place: scenario.Ground, backup_id: str, target: Path) -> tuple[int, dict[str, Any]]:
    """Restore a backup with no database."""
    words = ("restore", "-r", place.location, "--password-file", password_file(place.directory))
    return alone("agents.runtime", *words, "--backup", backup_id, "--target", str(target))


def same(left: Path, right: Path) -> bool:
    """Tell whether two trees hold the same names and bytes."""
    return subprocess.run(["diff", "-r", left, right], check=False).returncode == 0


@as_root
def test_a_full_medium_fails_the_run_and_hurts_nothing(stack: Stack, tmp_path: Path) -> None:
    """1.21: failed of class repository, earlier backups intact, and it works again when there is room."""
    stack.start_worker("work", group="full")
    with small_medium(tmp_path / "medium", "24m") as medium:
        place = scenario.ground(medium, "full")
        tree = scenario.small_tree(tmp_path)
        first = scenario.finished(scenario.request(scenario.job(place, tree)))
        assert first.state == RunState.SUCCEEDED
        kept = place.backup_ids()
        large = scenario.job(place, scenario.large_tree(tmp_path, size=40_000_000), max_attempts=1)

        failed = scenario.finished(scenario.request(large))
        assert (failed.state, failed.failure_class) == (RunState.FAILED, FailureClass.REPOSITORY)
        assert failed.error_code == "REPOSITORY_FULL"
        assert place.backup_ids() == kept
        code, _ = restored(place, kept[0], tmp_path / "out")
        assert code == 0
        assert same(tree, tmp_path / "out")

        subprocess.run(["mount", "-o", "remount,size=128m", medium], check=True)
        assert scenario.finished(scenario.request(large)).state == RunState.SUCCEEDED
        assert len(place.backup_ids()) == 2


def test_a_repository_below_its_own_source_is_left_out(stack: Stack, tmp_path: Path) -> None:
    """1.19: the source is the repository's parent; one more source is a single file."""
    stack.start_worker("work", group="parent")
    tree = scenario.small_tree(tmp_path)
    (tmp_path / "one file").write_bytes(b"alone")
    place = scenario.ground(tmp_path, "parent")
    run = scenario.finished(scenario.request(scenario.job(place, tmp_path, tmp_path / "one file")))
    assert (run.state, run.skipped) == (RunState.SUCCEEDED, 0), run.error_message
    whole, single = scenario.tasks(run)
    assert single.files == 1
    assert single.logical_bytes == 5
    code, _ = restored(place, whole.backup_id, tmp_path / "out")
    assert code == 0
    assert same(tree, tmp_path / "out" / tree.name)
    assert not (tmp_path / "out" / "repository").exists()


def only(tree: Path) -> tuple[str, ...]:
    """Return exclude rules that leave nothing of / but the way to `tree` and what is below it."""
    rules = []
    for way in [*reversed(tree.parents), tree][1:]:
        above = str(way.parent).rstrip("/")
        rules += [f"{above}/*", f"!{way}"]
    return tuple(rules)


def test_the_root_of_the_file_system_is_a_source(stack: Stack, tmp_path: Path) -> None:
    """1.19: `/`, cut down by excludes so that a test can wait for it."""
    stack.start_worker("work", group="root")
    place, tree = scenario.ground(tmp_path, "root"), scenario.small_tree(tmp_path)
    source = SourceInput(path=b"/", excludes=only(tree))
    new = NewJob(name="whole machine", repository_id=place.repository.id, sources=[source])
    run = scenario.finished(scenario.request(job_create(new, actor="test", now=database_now())))
    assert (run.state, run.skipped) == (RunState.SUCCEEDED, 0), run.error_message
    code, _ = restored(place, scenario.tasks(run)[0].backup_id, tmp_path / "out")
    assert code == 0
    assert same(tree, tmp_path / "out" / tree.relative_to("/"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == [tree.parts[1]]


def test_repository_and_password_are_enough(stack: Stack, tmp_path: Path) -> None:
    """1.20, A9: list, check and restore what runs have made, with nothing of the control plane."""
    stack.start_worker("work", group="alone")
    place, tree = scenario.ground(tmp_path, "alone"), scenario.small_tree(tmp_path)
    run = scenario.finished(scenario.request(scenario.job(place, tree)))
    words = (place.location, "--password-file", password_file(tmp_path))
    code, listed = alone("repositories.cli", "list", *words)
    assert code == 0
    assert [backup["id"] for backup in listed["backups"]] == [scenario.tasks(run)[0].backup_id]
    assert str(run.id) in listed["backups"][0]["id"]
    code, report = alone("repositories.cli", "check", *words, "--read-data")
    assert (code, report["ok"]) == (0, True)
    code, _ = restored(place, listed["backups"][0]["id"], tmp_path / "out")
    assert code == 0
    assert same(tree, tmp_path / "out")
