"""Looking through directories: what counts as an object, in both forms of a listing (4.3)."""

import os
from pathlib import Path

import pytest

from repositories.engine.errors import RepositoryError
from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.scanning import scan, scan_sizes


def test_only_regular_files_count(tmp_path: Path) -> None:
    (tmp_path / "packs" / "ab").mkdir(parents=True)
    (tmp_path / "packs" / "file").write_bytes(b"1234")
    (tmp_path / "packs" / "link").symlink_to("file")
    (tmp_path / "packs" / "away").symlink_to("ab")
    os.mkfifo(tmp_path / "packs" / "pipe")
    assert scan_sizes(str(tmp_path), "packs/") == ({"file": 4}, ["packs/ab/"])
    assert scan(str(tmp_path), "packs/") == ([StoredObject("packs/file", 4)], ["packs/ab/"])


def test_scratch_is_passed_over_at_the_top_alone(tmp_path: Path) -> None:
    (tmp_path / "tmp" / "half").mkdir(parents=True)
    (tmp_path / "packs" / "tmp").mkdir(parents=True)
    assert sorted(scan(str(tmp_path), "")[1]) == ["packs/"]
    assert scan(str(tmp_path), "packs/")[1] == ["packs/tmp/"]


def test_an_absent_directory_is_empty_and_no_descriptor_stays(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        assert scan_sizes(str(tmp_path), "packs/") == ({}, [])
        scan_sizes(str(tmp_path), "")
    assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize("form", ["list", "sizes"])
def test_what_cannot_be_listed_is_an_error_of_the_medium(tmp_path: Path, form: str) -> None:
    """Never an empty directory: packs that nobody could look for would count as missing."""
    (tmp_path / "packs").write_bytes(b"a file where a directory should be")
    with pytest.raises(RepositoryError, match="packs"):
        list(getattr(LocalStorage(str(tmp_path)), form)("packs/"))


def test_names_of_any_bytes_are_listed(tmp_path: Path) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / os.fsdecode(b"\xff\n")).write_bytes(b"12")
    assert [dict(each) for each in LocalStorage(str(tmp_path)).sizes("packs/")] == [{os.fsdecode(b"\xff\n"): 2}]
