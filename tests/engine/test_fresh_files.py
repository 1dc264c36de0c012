"""New files are private, and nobody else's."""

import os
import tempfile
from pathlib import Path

import pytest

from repositories.engine.fresh_files import make_private_directories, nameless_file, new_file, remove_file


def mode(path: str | Path) -> int:
    return os.stat(path).st_mode & 0o777


def test_each_file_is_new_private_and_open_for_both(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = [new_file(str(tmp_path), "pack-") for _ in range(3)]
    finally:
        os.umask(before)
    assert sorted(os.listdir(tmp_path)) == sorted(os.path.basename(path) for _, path in made)
    for descriptor, path in made:
        assert (mode(path), os.path.basename(path)[:5]) == (0o600, "pack-")
        assert os.write(descriptor, b"x") == 1
        assert os.pread(descriptor, 9, 0) == b"x"
        assert not os.get_inheritable(descriptor)
        os.close(descriptor)


@pytest.mark.parametrize("known", [True, False])
def test_a_file_without_a_name_is_read_by_its_path_until_it_is_closed(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if not known:
        # EISDIR comes of it, as from kernels and file systems that know no such files.
        monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY)
    descriptor, path = nameless_file("pack-")
    assert os.listdir(tmp_path) == []
    assert (mode(path), os.get_inheritable(descriptor)) == (0o600, False)
    assert os.write(descriptor, b"content") == 7
    for _ in range(2):
        assert Path(path).read_bytes() == b"content"
    assert os.path.getsize(path) == 7
    remove_file(path)
    assert Path(path).read_bytes() == b"content"
    os.close(descriptor)
    assert not os.path.exists(path)


def test_a_file_with_a_name_is_removed(tmp_path: Path) -> None:
    descriptor, path = new_file(str(tmp_path), "pack-")
    os.close(descriptor)
    remove_file(path)
    assert os.listdir(tmp_path) == []


def test_only_the_lowest_directories_are_made_private(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        make_private_directories(str(tmp_path / "a" / "b" / "c" / "d"), 2)
        make_private_directories(str(tmp_path / "a" / "b" / "c" / "d"), 2)
    finally:
        os.umask(before)
    assert [mode(tmp_path / each) for each in ("a", "a/b", "a/b/c", "a/b/c/d")] == [0o755, 0o755, 0o700, 0o700]
