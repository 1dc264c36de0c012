"""Devices and commands through a child: which errors end a source, what dies with the engine, who else can restore."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import Event, Log, Progress, SourceFinished, encode_line
from repositories.engine.process.requests import CommandPlace, Request, SourceRequest
from repositories.engine.repository import Repository
from tests.docs.test_restore_without_syncova import PROGRAM
from tests.engine.loop_devices import attached
from tests.engine.process.children import backup_request, failure, group, result, run, wait_until
from tests.engine.repositories import PASSWORD, local_repository
from tests.engine.trees import IS_ROOT, pattern
from tests.engine.users import ORDINARY, as_ordinary_user


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return local_repository(tmp_path / "repo")


def stdin_source(text: str, key: str = "0", name: bytes = b"db.sql") -> SourceRequest:
    place = CommandPlace(environment=((b"PATH", os.fsencode(os.defpath)), (b"PGPASSWORD", b"secret")))
    return SourceRequest(
        key=key,
        name=f"host:stdin:{key}",
        path=b"stdin:" + name,
        type="stdin",
        command=(b"sh", b"-c", text.encode()),
        place=place,
    )


def request_of(tmp_path: Path, *sources: SourceRequest) -> Request:
    request = backup_request(tmp_path / "repo", tmp_path)
    return Request(operation="backup", repository=request.repository, run=request.run, host="testhost", sources=sources)


def ends(events: list[Event]) -> list[tuple[str, str]]:
    finished = [event for event in events if isinstance(event, SourceFinished)]
    return [(event.status, "" if event.error is None else event.error.code) for event in finished]


def test_a_failed_command_ends_one_source(tmp_path: Path, repository: Repository) -> None:
    """The next source is backed up all the same; the last words are in the log."""
    bad = stdin_source("echo half; echo 'lost connection' >&2; exit 4")
    events = run(request_of(tmp_path, bad, stdin_source('printf %s "$PGPASSWORD"', "1", b"other")))
    assert ends(events) == [("failed", "COMMAND_FAILED"), ("succeeded", "")]
    assert [(event.level, event.message) for event in events if isinstance(event, Log)] == [
        ("warning", "sh: lost connection")
    ]
    assert result(events) == {"succeeded": 1, "failed": 1}
    assert [backup.root.source.id for backup in list_backups(repository)] == [b"stdin:other"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"type": "tape"}, "tape is no type of source"),
        ({"command": ()}, "there is no command"),
        ({"path": b"stdin:../x"}, "cannot name the output"),
    ],
)
def test_requests_that_make_no_sense(
    tmp_path: Path, repository: Repository, changes: dict[str, object], said: str
) -> None:
    events = run(request_of(tmp_path, msgspec.structs.replace(stdin_source("true"), **changes)))
    (told,) = [event.error for event in events if isinstance(event, SourceFinished)]
    assert told is not None
    assert (told.code, told.exit_code) == ("CONFIGURATION", 2)
    assert said in told.message


def test_the_environment_is_never_shown() -> None:
    """Only the line to the child carries it."""
    source = stdin_source("true")
    assert "secret" not in repr(source)
    assert b"c2VjcmV0" in encode_line(request_of(Path("/x"), source))


def test_progress_is_told_while_a_command_writes(tmp_path: Path, repository: Repository) -> None:
    events = run(request_of(tmp_path, stdin_source("head -c 3000000 /dev/zero; sleep 0.7; printf end")))
    told = [event for event in events if isinstance(event, Progress) and event.phase == "reading"]
    assert any(0 < event.bytes_read <= 3_000_000 and event.current == "db.sql" for event in told)


def test_an_ordinary_user_backs_up_what_a_command_prints(tmp_path: Path, repository: Repository) -> None:
    """2.14: nothing about it needs root."""
    request = request_of(tmp_path, stdin_source("id -u"))

    def back_up() -> list[tuple[str, str]]:
        return ends(run(request))

    if not as_ordinary_user(lambda: os.access(sys.executable, os.X_OK)):
        pytest.skip("only root may run this Python")
    assert as_ordinary_user(back_up, tmp_path) == [("succeeded", "")]
    (backup,) = list_backups(repository)
    ((path, entry),) = walk_entries(repository, backup)
    uid = ORDINARY if IS_ROOT else os.geteuid()
    assert (path, entry.uid, entry.size) == (b"db.sql", uid, len(f"{uid}\n"))


def test_a_cancel_ends_the_command_and_the_run(tmp_path: Path, repository: Repository) -> None:
    known = tmp_path / "pid"
    with EngineProcess(request_of(tmp_path, stdin_source(f"echo $$ > {known}; sleep 600 | sleep 601"))) as process:
        leader = _started(known)
        process.cancel()
        events = [event for event in process.events(60) if event is not None]
        assert process.wait(60) == 130
    assert failure(events).error.code == "CANCELLED"
    assert group(leader) == []
    assert list_backups(repository) == []


@pytest.mark.parametrize("whole_group", [False, True])
def test_the_command_dies_with_a_killed_engine(tmp_path: Path, repository: Repository, whole_group: bool) -> None:
    known = tmp_path / "pid"
    with EngineProcess(request_of(tmp_path, stdin_source(f"echo $$ > {known}; sleep 600 | sleep 601"))) as process:
        leader = _started(known)
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
        wait_until(lambda: group(leader) == [])
    assert list_backups(repository) == []


def _started(known: Path) -> int:
    wait_until(lambda: known.exists() and known.read_text().endswith("\n"))
    leader = int(known.read_text())
    wait_until(lambda: len(group(leader)) == 3)
    return leader


@pytest.mark.skipif(not IS_ROOT, reason="only root may attach loop devices")
def test_anyone_can_restore_the_image_without_syncova(tmp_path: Path, repository: Repository) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(5_000_000) + pattern(3_000_000) + bytes(388_608))
    with attached(image) as device:
        source = SourceRequest(key="0", name="disk", path=bytes(device), type="device")
        assert ends(run(request_of(tmp_path, source))) == [("succeeded", "")]
    (tmp_path / "password").write_bytes(PASSWORD)
    words = ["--password-file", tmp_path / "password", tmp_path / "repo", "restore", "latest", tmp_path / "target"]
    subprocess.run([sys.executable, str(PROGRAM), *map(str, words)], check=True, capture_output=True)
    assert (tmp_path / "target" / device.name).read_bytes() == image.read_bytes()
