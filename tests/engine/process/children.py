"""Requests and children for tests: small ones, answered as a control plane would."""

import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import ConfirmWanted, Event, Failed, Finished
from repositories.engine.process.requests import RepositoryAccess, Request, RunReference, SourceRequest
from tests.engine.repositories import PASSWORD

PATIENCE = 120.0


def access(location: Path, password: str = PASSWORD.decode(), **fields: Any) -> RepositoryAccess:
    return RepositoryAccess(location=str(location), password=password, **fields)


def backup_request(location: Path, *paths: Path, **fields: Any) -> Request:
    """Return a request that backs up each path as a source of its own."""
    about = fields.pop("source", {})
    sources = tuple(
        SourceRequest(key=str(number), name=f"source-{number}", path=os.fsencode(path), **about)
        for number, path in enumerate(paths)
    )
    fields.setdefault("run", RunReference(id=str(uuid.uuid4())))
    fields.setdefault("repository", access(location))
    return Request(operation="backup", sources=sources, host="testhost", **fields)


def run(request: Request, *, ok: bool = True) -> list[Event]:
    """Run a child to its end, answering each confirmation with `ok`; return all its events."""
    with EngineProcess(request) as process:
        events = collect(process, ok=ok)
        process.wait(PATIENCE)
        last = events[-1]
        expected = last.error.exit_code if isinstance(last, Failed) else 0
        assert process.returncode == expected, process.stderr_tail
        assert process.stderr_tail == ""
    return events


def collect(process: EngineProcess, *, ok: bool = True) -> list[Event]:
    """Return the events up to the last one."""
    events: list[Event] = []
    for event in process.events(PATIENCE):
        assert event is not None, "the child fell silent"
        events.append(event)
        if isinstance(event, ConfirmWanted):
            process.confirm(event.id, ok=ok)
    return events


def wait_for(process: EngineProcess, wanted: Callable[[Event], bool]) -> Event:
    """Return the first event that is wanted."""
    for event in process.events(PATIENCE):
        assert event is not None, "the child fell silent"
        if wanted(event):
            return event
        assert not isinstance(event, Finished | Failed), event
    raise AssertionError("the child ended")


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until `condition` holds, patiently."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def failure(events: list[Event]) -> Failed:
    last = events[-1]
    assert isinstance(last, Failed), last
    return last


def result(events: list[Event]) -> dict[str, Any]:
    last = events[-1]
    assert isinstance(last, Finished), last
    return last.result


def group(leader: int) -> list[int]:
    """Return the processes of a group that still live (zombies don't)."""
    return [pid for pid, state in _processes(leader) if state != "Z"]


def _processes(leader: int) -> Iterator[tuple[int, str]]:
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader:
            yield int(directory.name), fields[0]
