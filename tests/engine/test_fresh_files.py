"""New files are private, and nobody else's."""

import os
from pathlib import Path

from repositories.engine.fresh_files import make_private_directories, new_file


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


def test_without_a_directory_it_lies_with_other_temporary_files() -> None:
    descriptor, path = new_file(None, "pack-")
    os.close(descriptor)
    os.unlink(path)
    assert os.path.isabs(path)


def test_only_the_lowest_directories_are_made_private(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        make_private_directories(str(tmp_path / "a" / "b" / "c" / "d"), 2)
        make_private_directories(str(tmp_path / "a" / "b" / "c" / "d"), 2)
    finally:
        os.umask(before)
    assert [mode(tmp_path / each) for each in ("a", "a/b", "a/b/c", "a/b/c/d")] == [0o755, 0o755, 0o700, 0o700]
