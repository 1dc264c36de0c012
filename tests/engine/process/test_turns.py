"""A backup that asks before each source: it waits, obeys, and never outlives whoever it asks (6.4)."""

import io
import os
import threading
from pathlib import Path

import pytest

from repositories.engine.errors import OperationCancelledError
from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.process import protocol
from repositories.engine.process.channel import Channel
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import (
    ConfirmAnswer,
    ConfirmWanted,
    ErrorInfo,
    Event,
    Opened,
    Progress,
    SourceFinished,
    SourceStarted,
    TurnAnswer,
    TurnWanted,
)
from repositories.engine.process.requests import Request
from repositories.engine.repository import Repository
from tests.engine.process.children import (
    PATIENCE,
    access,
    backup_request,
    collect,
    failure,
    result,
    run,
    wait_for,
    wait_until,
)
from tests.engine.repositories import local_repository

HOOK = ErrorInfo(code="HOOK_SKIPPED", message="Nothing to do.", failure_class="hook")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return local_repository(tmp_path / "repo")


def tree(tmp_path: Path, name: str) -> Path:
    path = tmp_path / name
    path.mkdir()
    (path / "file").write_text(name)
    return path


def asking(tmp_path: Path, *paths: Path, seconds: float = PATIENCE) -> Request:
    return backup_request(tmp_path / "repo", *paths, turn_seconds=seconds)


def test_a_source_is_not_touched_before_its_turn(tmp_path: Path, repository: Repository) -> None:
    """What a hook puts there while the engine waits is in the backup, and the next turn comes after this one's end."""
    first, second = tmp_path / "later", tree(tmp_path, "second")
    events: list[Event] = []
    with EngineProcess(asking(tmp_path, first, second)) as process:
        for event in process.events(PATIENCE):
            assert event is not None
            events.append(event)
            if isinstance(event, TurnWanted):
                first.mkdir(exist_ok=True)
                (first / "mounted").write_text("now")
                process.turn(event.id, "go")
            elif isinstance(event, ConfirmWanted):
                process.confirm(event.id, ok=True)
    told = [type(event) for event in events if not isinstance(event, Progress)]
    assert told[:-1] == [Opened, *([TurnWanted, SourceStarted, ConfirmWanted, SourceFinished] * 2)]
    assert result(events) == {"succeeded": 2, "failed": 0, "skipped": 0}
    paths = {path for backup in list_backups(repository) for path, _ in walk_entries(repository, backup)}
    assert {b"mounted", b"file"} <= paths


def test_what_is_left_out_ends_unread_with_its_reason(tmp_path: Path, repository: Repository) -> None:
    sources = [tree(tmp_path, name) for name in "abc"]
    events: list[Event] = []
    with EngineProcess(asking(tmp_path, *sources)) as process:
        verdicts: list[protocol.TurnVerdict] = ["skip", "fail", "go"]
        for event in process.events(PATIENCE):
            assert event is not None
            events.append(event)
            if isinstance(event, TurnWanted):
                process.turn(event.id, verdict := verdicts.pop(0), HOOK if verdict == "skip" else None)
            elif isinstance(event, ConfirmWanted):
                process.confirm(event.id, ok=True)
    skipped, failed, done = [event for event in events if isinstance(event, SourceFinished)]
    assert (skipped.status, skipped.error) == ("skipped", HOOK)
    assert failed.error is not None
    assert (failed.status, failed.error.code, done.status) == ("failed", "ENGINE_PROTOCOL", "succeeded")
    assert [event.source for event in events if isinstance(event, SourceStarted)] == ["2"]
    assert result(events) == {"succeeded": 1, "failed": 1, "skipped": 1}
    assert len(list_backups(repository)) == 1


def test_nothing_of_a_source_is_open_any_more_when_its_end_is_told(tmp_path: Path, repository: Repository) -> None:
    """What runs after it may unmount it; also where it failed in its middle."""
    first, second = tree(tmp_path, "first"), tree(tmp_path, "second")
    assert result(run(backup_request(tmp_path / "repo", first)))["succeeded"] == 1
    (first / "file").unlink()
    with EngineProcess(asking(tmp_path, first, second)) as process:
        for status in ("failed", "succeeded"):
            turn = wait_for(process, lambda event: isinstance(event, TurnWanted))
            assert isinstance(turn, TurnWanted)
            process.turn(turn.id, "go")
            if status == "succeeded":
                asked = wait_for(process, lambda event: isinstance(event, ConfirmWanted))
                assert isinstance(asked, ConfirmWanted)
                process.confirm(asked.id, ok=True)
            ended = wait_for(process, lambda event: isinstance(event, SourceFinished))
            assert isinstance(ended, SourceFinished)
            assert ended.status == status
            assert open_in(process.pid, first if status == "failed" else second) == []
        collect(process)
    assert repository.id


def open_in(pid: int, directory: Path) -> list[str]:
    places = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
    return [place for place in places if place.startswith(str(directory))]


@pytest.mark.parametrize("how", ["cancelled", "nobody answers", "parent gone"])
def test_a_wait_for_a_turn_ends(tmp_path: Path, repository: Repository, how: str) -> None:
    """EOF is the parent's end; one that is there and says nothing holds the engine no longer than it was told."""
    request = asking(tmp_path, tree(tmp_path, "a"), seconds=0.3 if how == "nobody answers" else PATIENCE)
    with EngineProcess(request) as process:
        wait_for(process, lambda event: isinstance(event, TurnWanted))
        if how == "cancelled":
            process.cancel()
        elif how == "parent gone":
            process._stdin.close()
        error = failure(collect(process)).error
        assert process.wait(PATIENCE) == error.exit_code
    assert error.code == ("TURN_UNANSWERED" if how == "nobody answers" else "CANCELLED")
    assert list_backups(repository) == []
    assert list((tmp_path / "repo" / "sessions").glob("*")) == []


def test_a_wait_for_a_turn_takes_no_other_answer() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as commands:
        channel = Channel(os.fdopen(reading, "rb"), io.BytesIO())
        commands.write(protocol.encode_line(Request(operation="backup", repository=access(Path("/nowhere")))))
        commands.flush()
        channel.read_request()
        answers: list[TurnAnswer] = []
        waiting = threading.Thread(target=lambda: answers.append(channel.turn("0", PATIENCE)))
        waiting.start()
        right = TurnAnswer(id=1, verdict="skip")
        for line in (ConfirmAnswer(id=1, ok=True), TurnAnswer(id=7, verdict="go"), right):
            commands.write(protocol.encode_line(line))
        commands.flush()
        waiting.join(60)
        assert answers == [right]
    wait_until(channel.cancelled)
    with pytest.raises(OperationCancelledError):
        channel.turn("1", PATIENCE)
