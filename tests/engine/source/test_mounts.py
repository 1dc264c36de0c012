"""Which mount a directory lies on: octal names, hidden mounts, what is not there."""

import os
from pathlib import Path

import pytest

from repositories.engine.source.mounts import Mount, mount_at, mount_id, mount_of, mounts_below, read_mounts, unescaped
from tests.engine.mounts import bind, mount_tmpfs, unmount, with_mounts
from tests.engine.trees import IS_ROOT

LINES = rb"""36 35 98:0 / /mnt/with\040blank\011and\134back rw,noatime shared:1 master:2 - ext4 /dev/sda rw
37 35 0:44 /sub /plain rw - fuse.sshfs host:/dir rw
not a line
38 35 0:45 / / rw - btrfs /dev/sdb rw
"""

root_only = pytest.mark.skipif(not IS_ROOT, reason="only root may mount")


def test_names_are_unescaped(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_bytes(LINES)
    assert list(read_mounts(str(tmp_path / "mountinfo")).values()) == [
        Mount(36, b"/mnt/with blank\tand\\back", "ext4"),
        Mount(37, b"/plain", "fuse.sshfs"),
        Mount(38, b"/", "btrfs"),
    ]
    assert unescaped(rb"\777") == b"\xff"


def test_nothing_is_known_without_the_list(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        assert read_mounts(str(tmp_path / "none")) == {}
        assert mount_of(descriptor, str(tmp_path / "none")) is None
        assert mount_at(descriptor, b"none") is None
    finally:
        os.close(descriptor)
    assert mount_id(descriptor) is None


def seen_below(root: Path) -> dict[bytes, frozenset[bytes]]:
    descriptor = os.open(root, os.O_RDONLY)
    try:
        return mounts_below(os.fsencode(root), descriptor)
    finally:
        os.close(descriptor)


@root_only
def test_what_is_mounted_below_is_found(tmp_path: Path) -> None:
    """Binds of the same file system, too, by the real path of the root, with any name."""
    for name in ("tree/a b/x", "tree/\\n", "tree/plain", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("tree")

    def run() -> dict[bytes, frozenset[bytes]]:
        mount_tmpfs(tmp_path / "tree/a b/x")
        bind(tmp_path / "other", tmp_path / "tree/\\n")
        mount_tmpfs(tmp_path / "other")
        return seen_below(tmp_path / "link")

    assert with_mounts(run) == {b"a b": frozenset({b"x"}), b"": frozenset({b"\\n"})}


@root_only
def test_what_another_mount_hides_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)

    def run() -> None:
        mount_tmpfs(tmp_path / "a" / "b")
        mount_tmpfs(tmp_path / "a")
        (tmp_path / "a" / "b").mkdir()
        assert seen_below(tmp_path) == {b"": frozenset({b"a"})}
        directory = os.open(tmp_path / "a", os.O_RDONLY)
        assert mount_at(directory, b"b") is None
        found = mount_of(directory)
        assert found is not None
        assert (found.point, found.type) == (os.fsencode(tmp_path / "a"), "tmpfs")
        unmount(tmp_path / "a")
        assert mount_of(directory) is None
        assert seen_below(tmp_path) == {b"a": frozenset({b"b"})}

    with_mounts(run)
