"""Backups of one stream: images of devices and outputs of commands, whole or not at all (2.7)."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.backup import BackupOptions, BackupResult, Hooks, SourceSpec
from repositories.engine.backup.single_stream import back_up_command, back_up_device, stdin_name
from repositories.engine.check import CheckRequest, check
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.errors import (
    CommandFailedError,
    ConfigurationError,
    OperationCancelledError,
    SourceEmptyError,
    SourceUnreadableError,
    StorageFullError,
)
from repositories.engine.ids import uuid7
from repositories.engine.manifest.backups import list_backups
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.repository import Repository, open_repository
from repositories.engine.source.command import Command
from repositories.engine.storage.faults import Fault, FaultyStorage
from repositories.engine.storage.memory import MemoryStorage
from repositories.engine.throttle import Throttle
from tests.engine.backup.test_unmounting import with_mounted
from tests.engine.loop_devices import attached
from tests.engine.mounts import LIBC
from tests.engine.process.children import group, wait_until
from tests.engine.repositories import PASSWORD, LaterClock, make_repository, restore_latest
from tests.engine.trees import IS_ROOT, pattern

root_only = pytest.mark.skipif(not IS_ROOT, reason="only root may attach loop devices")
MIB = 1 << 20


def order(**changes: Any) -> tuple[BackupOptions, Hooks]:
    run = str(uuid7(SYSTEM_CLOCK.now_ns()))
    hooks = {key: changes.pop(key) for key in Hooks.__struct_fields__ if key in changes}
    return BackupOptions(backup_id=f"run-{run}-x", run_id=run, **changes), Hooks(**{"clock": LaterClock(), **hooks})


def back_up_output(repository: Repository, text: str, told: list[str] | None = None, **changes: Any) -> BackupResult:
    """Back up what a shell script writes as `db.sql`."""
    command = Command((b"sh", b"-c", text.encode()), ((b"PATH", os.fsencode(os.defpath)),))
    source = SourceSpec("host:stdin:db.sql", b"stdin:db.sql", "stdin")
    lines = [] if told is None else told
    changes["log"] = lambda level, line: lines.append(f"{level} {line}")
    with repository.begin_write() as session:
        return back_up_command(session, source, command, *order(**changes))


def back_up_image(repository: Repository, device: Path, **changes: Any) -> BackupResult:
    source = SourceSpec("host:/dev/x", bytes(device), "device")
    with repository.begin_write() as session:
        return back_up_device(session, source, *order(**changes))


def restored(repository: Repository, target: Path) -> Path:
    """Restore the newest backup; return the one file that it holds."""
    result = restore_latest(repository, target)
    assert result.exit_code == 0
    (path,) = target.iterdir()
    return path


def test_the_output_of_a_command_is_one_file(repository: Repository, tmp_path: Path) -> None:
    result = back_up_output(repository, "head -c 3000000 /dev/zero; printf data")
    assert (result.files, result.directories, result.logical_bytes, result.bytes_read) == (1, 0, 3_000_004, 3_000_004)
    path = restored(repository, tmp_path / "target")
    assert (path.name, path.read_bytes()) == ("db.sql", bytes(3_000_000) + b"data")
    status = path.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o600, os.geteuid(), os.getegid())
    (backup,) = list_backups(repository)
    assert backup.root.source.type == "stdin"
    assert backup.root.source.id == b"stdin:db.sql"
    assert status.st_mtime_ns == backup.root.started_ns
    report = check(repository, CheckRequest(read_data=True), Hooks())
    assert (report.ok, report.backups, report.problems) == (True, 1, [])


def test_what_is_known_is_read_but_not_stored_again(repository: Repository, tmp_path: Path) -> None:
    """One chain per name: the second run is incremental."""
    content = tmp_path / "content"
    content.write_bytes(pattern(5 * MIB))
    first = back_up_output(repository, f"cat {content}")
    second = back_up_output(repository, f"cat {content}; echo more")
    assert (first.mode, second.mode, second.parent_id) == ("full", "incremental", first.backup_id)
    assert second.bytes_read == 5 * MIB + 5
    # The end of the content is new, and nothing before it.
    assert second.bytes_stored < 3 * MIB
    third = back_up_output(repository, f"cat {content}; echo more")
    assert (third.new_chunks, third.bytes_read) == (1, 5 * MIB + 5)


@pytest.mark.parametrize("text", ["head -c 9000000 /dev/urandom; exit 3", "exit 1", "echo x; kill $$"])
def test_a_failed_command_commits_nothing(repository: Repository, text: str) -> None:
    told: list[str] = []
    with pytest.raises(CommandFailedError):
        back_up_output(repository, f"echo 'no space' >&2; {text}", told)
    assert list_backups(repository) == []
    assert told == ["warning sh: no space"]


def test_what_a_broken_off_output_gave_is_not_stored_again(repository: Repository, tmp_path: Path) -> None:
    """There is no checkpoint of half a file, but its chunks stay (2.15)."""
    (tmp_path / "dump").write_bytes(os.urandom(20_000_000))
    with pytest.raises(CommandFailedError):
        back_up_output(repository, f"cat {tmp_path / 'dump'}; exit 1")
    assert repository.checkpoints().counted == []
    result = back_up_output(repository, f"cat {tmp_path / 'dump'}")
    assert result.bytes_read == 20_000_000
    assert result.bytes_stored < 10_000_000, "only what had been read and not been cut yet"


def test_the_last_words_of_a_good_command_are_told_too(repository: Repository) -> None:
    told: list[str] = []
    back_up_output(repository, "echo x; echo '3 tables' >&2", told)
    assert told == ["info sh: 3 tables"]


def test_a_cancel_ends_the_command(repository: Repository, tmp_path: Path) -> None:
    known = tmp_path / "pid"
    with pytest.raises(OperationCancelledError):
        back_up_output(repository, f"echo $$ > {known}; sleep 600; true", cancelled=known.exists)
    assert list_backups(repository) == []
    wait_until(lambda: known.read_text() != "")
    assert group(int(known.read_text())) == []


def test_an_error_of_the_repository_ends_the_command(tmp_path: Path) -> None:
    """The medium is full while the command still writes."""
    known = tmp_path / "pid"
    memory = MemoryStorage()
    make_repository(memory)
    repository = open_repository(FaultyStorage(memory, Fault.FULL, 3), PASSWORD)
    # More than is ever buffered on the way to the medium.
    text = f"echo $$ > {known}; cat /dev/urandom; sleep 600"
    with pytest.raises(StorageFullError):
        back_up_output(repository, text)
    assert group(int(known.read_text())) == []
    assert list_backups(open_repository(memory, PASSWORD)) == []


def test_the_bandwidth_limit_holds(repository: Repository) -> None:
    """C7: the reader waits, and so does the command."""
    slept: list[float] = []
    now = [0.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    bucket = Throttle(MIB, monotonic=lambda: now[0], sleep=sleep)
    back_up_output(repository, f"head -c {4 * MIB} /dev/zero", read_bucket=bucket)
    assert sum(slept) == pytest.approx(3.0, abs=0.01)


def test_a_command_that_writes_nothing(repository: Repository) -> None:
    """Nothing after something is no green backup unless that is said to be right (2.6)."""
    back_up_output(repository, "true")
    back_up_output(repository, "true")
    back_up_output(repository, "echo data")
    with pytest.raises(SourceEmptyError, match=r"gave nothing, but 5 B in backup [0-9a-f]{8}"):
        back_up_output(repository, "true")
    assert len(list_backups(repository)) == 3
    result = back_up_output(repository, "true", accept_new_root=True)
    assert (result.files, result.logical_bytes) == (1, 0)


@pytest.mark.parametrize("name", [b"", b".", b"..", b"a/b", b"/a", b"a\0b", b"x" * 256])
def test_names_that_no_output_can_have(name: bytes) -> None:
    with pytest.raises(ConfigurationError):
        stdin_name(b"stdin:" + name)


@pytest.mark.parametrize("name", [b"db.sql", b"x" * 255, b"-rf", b"\xff\n", b"..."])
def test_names_that_an_output_can_have(name: bytes) -> None:
    assert stdin_name(b"stdin:" + name) == name
    with pytest.raises(ConfigurationError):
        stdin_name(name)


@root_only
def test_the_image_of_a_device(repository: Repository, tmp_path: Path) -> None:
    """Zeros are holes, content is found again, and the restored image is the device's content."""
    image = tmp_path / "image"
    content = pattern(3 * MIB)
    with image.open("wb") as file:
        file.truncate(40 * MIB)
        file.seek(20 * MIB)
        file.write(content)
    with attached(image) as device:
        first = back_up_image(repository, device)
        second = back_up_image(repository, device)
        name = device.name
    assert (first.files, first.bytes_read, first.logical_bytes) == (1, 40 * MIB, 40 * MIB)
    assert first.bytes_stored < 12 * MIB
    assert (second.mode, second.bytes_read, second.new_chunks) == ("incremental", 40 * MIB, 1)
    assert second.bytes_stored < 4096
    path = restored(repository, tmp_path / "target")
    assert (path.name, path.read_bytes()) == (name, image.read_bytes())
    assert path.stat().st_blocks * 512 < 20 * MIB
    assert list_backups(repository)[0].root.source.type == "device"
    assert first.warnings == 0


@root_only
def test_an_image_with_a_gap_is_no_backup(repository: Repository, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(pattern(3 * MIB))
    with attached(image) as device:
        os.truncate(image, 2 * MIB)
        with pytest.raises(SourceUnreadableError, match="at offset 2,"):
            back_up_image(repository, device)
    assert list_backups(repository) == []


@root_only
@pytest.mark.parametrize("strict", [False, True])
def test_a_mounted_device_is_warned_of(tmp_path: Path, strict: bool) -> None:
    image, mounted = tmp_path / "image", tmp_path / "mounted"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(8 * MIB)
    assert os.system(f"mkfs.ext4 -q {image} 2>/dev/null") in (0, 32512)

    def run() -> tuple[int, int, list[tuple[str, str]]] | None:
        with attached(image, writable=True) as device:
            if LIBC.mount(bytes(device), bytes(mounted), b"ext4", 0, None):
                return None
            result = back_up_image(make_repository(), device, strict=strict)
            LIBC.umount2(bytes(mounted), 0)
        return result.warnings, result.skipped, [(str(each.kind), each.detail) for each in result.problems]

    found = with_mounted(tmp_path / "mounted", run)
    if found is None:
        pytest.skip("no ext4 here")
    warnings, skipped, problems = found
    assert (warnings, skipped) == ((0, 1) if strict else (1, 0))
    assert problems == [
        (
            str(ProblemKind.MOUNTED),
            f"mounted writable at {mounted}: the image may be inconsistent; a snapshot holds still",
        )
    ]


def test_a_cancelled_output_is_read_from_its_beginning(repository: Repository) -> None:
    """2.15: the hint promises no more than that: only a tree is gone on with."""
    with pytest.raises(OperationCancelledError) as caught:
        back_up_output(repository, "sleep 600", cancelled=lambda: True)
    assert "read from its beginning, and what was stored of it is not stored twice" in caught.value.hint
