"""Directories and links that give their place to something else between listing and reading."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.backup.describe import Describer
from repositories.engine.repository import Repository
from repositories.engine.source.directory import Directory
from tests.engine.repositories import back_up_tree


def _dangle(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize(("make", "was"), [(Path.mkdir, "directory"), (_dangle, "symbolic link")])
def test_what_was_swapped_for_a_file_is_told_by_what_it_was(
    make: Callable[[Path], None], was: str, tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words of the system ("Not a directory", "Invalid argument") would be about the call, not about the object."""
    tree = tmp_path / "tree"
    tree.mkdir()
    make(tree / "swapped")
    real = Describer.describe

    def swap(describer: Describer, directory: Directory, name: bytes, *more: Any) -> object:
        if name == b"swapped":
            (tree / "swapped").rename(tree / "moved")
            (tree / "swapped").write_text("now a file")
        return real(describer, directory, name, *more)

    monkeypatch.setattr(Describer, "describe", swap)
    result = back_up_tree(repository, tree)
    assert [(problem.path, problem.detail) for problem in result.problems] == [(b"swapped", f"no longer a {was}")]
    assert result.skipped == 1
