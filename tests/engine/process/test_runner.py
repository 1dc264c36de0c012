"""The child's edge: a defect is told like any other end; the channel survives bad lines and a lost reader."""

import io
import os
import threading
import typing
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.errors import OperationCancelledError
from repositories.engine.process import opening, protocol, requests, runner
from repositories.engine.process.channel import Channel
from repositories.engine.process.protocol import Cancel, ConfirmAnswer, Event, Failed, Log, SourceStarted
from repositories.engine.process.requests import Request
from tests.engine.process.children import access, wait_until
from tests.engine.repositories import local_repository


def request() -> Request:
    return Request(operation="info", repository=access(Path("/nowhere")))


def events_in(stream: io.BytesIO) -> list[Event]:
    return [protocol.decode_event(line) for line in stream.getvalue().splitlines()]


def test_a_defect_is_told_with_its_traceback_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def defect(*_: Any) -> dict[str, Any]:
        raise ZeroDivisionError("what nobody thought of")

    monkeypatch.setattr(runner, "_operation", lambda _: defect)
    out = io.BytesIO()
    assert runner.run(request(), Channel(io.BytesIO(), out)) == 1
    (event,) = events_in(out)
    assert isinstance(event, Failed)
    assert (event.error.code, event.error.failure_class) == ("INTERNAL", "unknown")
    assert "what nobody thought of" in event.error.message
    assert "Traceback" in capfd.readouterr().err


def test_every_operation_of_the_protocol_exists() -> None:
    assert set(runner.OPERATIONS) == set(typing.get_args(requests.Operation))
    for name in runner.OPERATIONS:
        assert callable(runner._operation(name))


def test_a_bad_line_is_told_and_passed_over() -> None:
    reading, writing = os.pipe()
    out = io.BytesIO()
    with os.fdopen(writing, "wb") as commands:
        channel = Channel(os.fdopen(reading, "rb"), out)
        commands.write(protocol.encode_line(request()) + b"no command\n")
        commands.flush()
        assert channel.read_request() == request()
        wait_until(lambda: b"\n" in out.getvalue())
        assert isinstance(events_in(out)[0], Log)
        assert not channel.cancelled()
        commands.write(protocol.encode_line(Cancel()))
        commands.flush()
        wait_until(channel.cancelled)


def test_a_confirmation_waits_for_its_own_answer() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as commands:
        channel = Channel(os.fdopen(reading, "rb"), io.BytesIO())
        commands.write(protocol.encode_line(request()))
        commands.flush()
        channel.read_request()
        asking = threading.Thread(target=channel.confirm, args=("source",))
        asking.start()
        for number in (7, 1):
            commands.write(protocol.encode_line(ConfirmAnswer(id=number, ok=number == 1)))
        commands.flush()
        asking.join(60)
        assert not asking.is_alive()


def test_without_a_reader_the_operation_is_cancelled() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb", buffering=0) as events:
        channel = Channel(io.BytesIO(), events)
        channel.send(SourceStarted(source="0"))
        assert channel.cancelled()
        with pytest.raises(OperationCancelledError):
            channel.confirm("0")


def test_opening_begins_with_the_request_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_begun", [])
    local_repository(tmp_path / "repo")
    asked = Request(operation="info", repository=access(tmp_path / "repo"), parent_pid=os.getppid())
    runner.begin(asked)
    runner.begin(asked)
    assert len(opening._begun) == 1
    assert opening.open_for(asked.repository).backups() == []
    assert opening._begun == []


@pytest.mark.parametrize(
    "fields", [{"parent_pid": 0}, {"v": 99, "parent_pid": os.getppid()}], ids=["parent", "version"]
)
def test_nothing_is_opened_for_a_request_that_is_refused(
    tmp_path: Path, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_begun", [])
    runner.begin(Request(operation="info", repository=access(tmp_path / "repo"), **fields))
    assert opening._begun == []
