"""Directories of the target that somebody exchanges during a restore: told as that, and as no damage (2.12)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.target import TargetTree
from tests.engine.repositories import back_up_tree, make_repository, restore_latest


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    tree = tmp_path / "tree"
    for name in ("d1", "d9/e"):
        (tree / name).mkdir(parents=True)
        (tree / name / "f0").write_bytes(b"content")
    (tree / "d9" / "f0").write_bytes(b"content")
    made = make_repository()
    back_up_tree(made, tree)
    return made


class At:
    """Does something once when the restore comes to a path in a phase."""

    def __init__(self, phase: str, path: bytes, act: Callable[[], object]) -> None:
        self._when: tuple[str, bytes] | None = (phase, path)
        self._act = act

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = RestorePulse.entry

        def entry(pulse: RestorePulse, path: bytes) -> None:
            if (pulse.phase, path) == self._when:
                self._when = None
                self._act()
            real(pulse, path)

        monkeypatch.setattr(RestorePulse, "entry", entry)


def swap(out: Path, outside: Path) -> Callable[[], object]:
    def act() -> None:
        os.rename(out / "d9", out / "moved")
        (out / "d9").symlink_to(outside)

    return act


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    found = tmp_path / "outside"
    found.mkdir()
    return found


def test_a_directory_swapped_before_it_is_filled(
    repository: Repository, tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    At("restoring", b"d1/f0", swap(out, outside)).patch(monkeypatch)
    result = restore_latest(repository, out, verify=True)
    assert (result.exit_code, result.damaged, result.failed, result.kept) == (13, 0, 0, 0)
    assert sorted(result.swapped_paths) == [b"d9/e", b"d9/e/f0", b"d9/f0"]
    assert (out / "d1" / "f0").read_bytes() == b"content"
    assert os.listdir(outside) == []


@pytest.mark.parametrize("phase", ["finishing", "verifying"])
def test_a_directory_swapped_after_it_was_filled(
    phase: str, repository: Repository, tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files went with it: nothing of it is in the target any more."""
    out = tmp_path / "out"
    At(phase, b"d1" if phase == "finishing" else b"d1/f0", swap(out, outside)).patch(monkeypatch)
    result = restore_latest(repository, out, verify=True)
    assert (result.exit_code, result.damaged, result.failed) == (13, 0, 0)
    assert sorted(result.swapped_paths) == [b"d9", b"d9/e"]
    assert os.listdir(outside) == []


def test_a_directory_that_is_closed_to_us_is_no_swap_and_no_damage(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else keeps us out is a failure with its reason."""
    real = TargetTree.go

    def go(tree: TargetTree, directory: bytes) -> None:
        if directory == b"d9/e":
            raise PermissionError(13, "Permission denied")
        real(tree, directory)

    monkeypatch.setattr(TargetTree, "go", go)
    result = restore_latest(repository, tmp_path / "out")
    assert (result.exit_code, result.damaged, result.swapped) == (3, 0, 0)
    assert result.failed_paths == [(b"d9/e/f0", "Permission denied")]
