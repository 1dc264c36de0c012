"""Block devices: opened only if they are, read whole or not at all, and seen when they are mounted (2.7)."""

import os
from pathlib import Path

import pytest

from repositories.engine.errors import (
    ConfigurationError,
    SourceError,
    SourceMissingError,
    SourceUnreadableError,
    SourceVanishedError,
)
from repositories.engine.source.device import DeviceReader, OpenDevice, open_device
from repositories.engine.source.mounted import writable_mount_on
from tests.engine.loop_devices import attached, resize
from tests.engine.trees import IS_ROOT, pattern
from tests.engine.users import as_ordinary_user

SIZE = 3 << 20
root_only = pytest.mark.skipif(not IS_ROOT, reason="only root may attach loop devices")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    path.write_bytes(pattern(SIZE))
    return path


def read(device: OpenDevice, most: int = 1 << 30) -> tuple[bytes, DeviceReader]:
    reader = DeviceReader(device, lambda _: None)
    buffer = bytearray(1 << 20)
    found = b""
    while len(found) < most and (count := reader.readinto(memoryview(buffer))):
        found += buffer[:count]
    return found, reader


@root_only
def test_a_device_is_read_whole(image: Path) -> None:
    with attached(image) as path:
        device = open_device(bytes(path))
        found, reader = read(device)
        with reader:
            assert reader.finish() == 0
    assert (device.size, found) == (SIZE, image.read_bytes())


@root_only
def test_links_to_devices_are_ordinary(image: Path, tmp_path: Path) -> None:
    """Volume managers name their devices by links."""
    link = tmp_path / "vg-snap"
    with attached(image) as path:
        link.symlink_to(path)
        device = open_device(bytes(link))
        os.close(device.descriptor)
        assert device.number == path.stat().st_rdev


@pytest.mark.parametrize("kind", ["a regular file", "a directory", "a character device", "something else"])
def test_nothing_else_is_opened(tmp_path: Path, kind: str) -> None:
    """Not even for a moment: a FIFO would block, a tape would rewind."""
    path = tmp_path / "it"
    match kind:
        case "a regular file":
            path.write_bytes(b"x")
        case "a directory":
            path.mkdir()
        case "a character device":
            path.symlink_to("/dev/null")
        case _:
            os.mkfifo(path)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ConfigurationError, match=f"is {kind}, not a block device") as caught:
        open_device(bytes(path))
    assert "--path" in caught.value.hint
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="does not exist"):
        open_device(bytes(tmp_path / "gone"))
    with pytest.raises(ConfigurationError, match="no absolute path"):
        open_device(b"dev/sda")


@root_only
def test_an_ordinary_user_is_told_why(image: Path) -> None:
    def refused(path: Path) -> str:
        with pytest.raises(SourceError, match="cannot be opened") as caught:
            open_device(bytes(path))
        return caught.value.message

    with attached(image) as path:
        assert "Permission denied" in as_ordinary_user(lambda: refused(path))


@root_only
def test_a_device_without_a_medium(image: Path) -> None:
    """It can be opened, and has nothing: that is no empty backup."""
    image.write_bytes(b"")
    with attached(image) as path, pytest.raises(SourceMissingError, match="has a size of 0"):
        open_device(bytes(path))


@root_only
@pytest.mark.parametrize("left", [1 << 20, 0])
def test_a_device_that_shrinks(image: Path, left: int) -> None:
    with attached(image) as path:
        _, reader = read(open_device(bytes(path)), 1 << 20)
        with reader:
            os.truncate(image, left)
            resize(path)
            with pytest.raises(SourceVanishedError, match=r"ended at offset 1,048,576 .* it had 3,145,728 bytes"):
                reader.readinto(memoryview(bytearray(10)))
            with pytest.raises(SourceVanishedError, match="became shorter"):
                reader.finish()


@root_only
def test_a_device_that_grows_gives_what_it_held(image: Path) -> None:
    with attached(image) as path:
        device = open_device(bytes(path))
        os.truncate(image, SIZE + 4096)
        resize(path)
        found, reader = read(device)
        with reader:
            assert (len(found), reader.finish()) == (SIZE, 4096)


@root_only
def test_a_path_that_leads_elsewhere_at_the_end(image: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    with attached(image) as first, attached(image) as second:
        link.symlink_to(first)
        _, reader = read(open_device(bytes(link)))
        with reader:
            link.unlink()
            with pytest.raises(SourceVanishedError, match="vanished"):
                reader.finish()
            link.symlink_to(second)
            with pytest.raises(SourceVanishedError, match="was replaced"):
                reader.finish()


@root_only
def test_a_read_error_names_its_offset(image: Path) -> None:
    """The file behind a loop device loses its end: reading there is an error of the device."""
    with attached(image) as path:
        os.truncate(image, 1 << 20)
        device = open_device(bytes(path))
        with pytest.raises(SourceUnreadableError, match=r"cannot be read at offset 1,0\d\d,\d{3}: Input/output error"):
            read(device)
        os.close(device.descriptor)


def mountinfo(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "mountinfo"
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def node(sysfs: Path, number: str, *, below: str = "", partition: bool = False) -> Path:
    """Make what sysfs shows of a device."""
    place = sysfs / below / number
    place.mkdir(parents=True)
    (place / "dev").write_text(f"{number.removeprefix('p')}\n")
    if partition:
        (place / "partition").write_text("1\n")
    return place


def test_mounts_are_found_on_the_device_its_partitions_and_what_is_built_on_it(tmp_path: Path) -> None:
    """A disk with one partition that carries an encrypted volume."""
    sysfs = tmp_path / "sys"
    node(sysfs, "8:0")
    node(sysfs, "p8:1", below="8:0", partition=True)
    node(sysfs, "8:1")
    node(sysfs, "253:0", below="8:1/holders")
    mounts = mountinfo(
        tmp_path,
        "22 1 8:16 / /other rw - ext4 /dev/sdb rw",
        "23 1 253:0 / /data\\040dir rw,noatime shared:1 - ext4 /dev/mapper/x rw,errors=remount-ro",
    )
    assert writable_mount_on(os.makedev(8, 0), mounts, str(sysfs)) == "/data dir"
    assert writable_mount_on(os.makedev(8, 1), mounts, str(sysfs)) == "/data dir"
    assert writable_mount_on(os.makedev(253, 0), mounts, str(sysfs)) == "/data dir"
    assert writable_mount_on(os.makedev(8, 32), mounts, str(sysfs)) is None


@pytest.mark.parametrize(
    ("line", "mounted"),
    [
        ("22 1 8:0 / /m rw - ext4 /dev/sda rw", True),
        ("22 1 8:0 / /m ro - ext4 /dev/sda rw", True),
        ("22 1 8:0 / /m ro - ext4 /dev/sda ro", False),
        ("nonsense", False),
    ],
)
def test_only_a_writable_file_system_changes_the_device(tmp_path: Path, line: str, mounted: bool) -> None:
    """A bind mount may be read-only over a writable one."""
    found = writable_mount_on(os.makedev(8, 0), mountinfo(tmp_path, line), str(tmp_path))
    assert found == ("/m" if mounted else None)


def test_a_file_system_with_a_number_of_its_own_is_known_by_its_device(tmp_path: Path) -> None:
    try:
        device = os.stat("/dev/loop0").st_rdev
    except OSError:
        pytest.skip("no loop device here")
    mounts = mountinfo(tmp_path, "22 1 0:51 /sub /m rw - btrfs /dev/loop0 rw,subvol=/sub")
    assert writable_mount_on(device, mounts, str(tmp_path)) == "/m"


def test_without_mountinfo_nothing_is_known(tmp_path: Path) -> None:
    assert writable_mount_on(os.makedev(8, 0), str(tmp_path / "none"), str(tmp_path)) is None
