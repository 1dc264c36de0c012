"""A run's log as a live stream of server-sent events (7.2): whole, in order, bounded, and gone on with."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError

from jobs import log_stream, run_log
from jobs.conclusion import conclude
from jobs.database_time import database_now
from jobs.executors import ExecutionResult
from jobs.models import Run
from jobs.run_log import LogLine, LogTail
from syncova_project.web import long_answers
from tests.api.builders import NOBODY, make_run, start
from tests.api.client import ApiClient

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Look again without waiting, and give a sign of life each time."""
    settings.SYNCOVA_LONG_ANSWERS = 1
    monkeypatch.setattr(log_stream, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(log_stream, "ALIVE_SECONDS", 0.0)


def running() -> tuple[Run, int]:
    run = make_run()
    return run, start(run)


def write(run: Run, fence: int, *messages: str) -> None:
    lines = [LogLine(database_now(), "info", message) for message in messages]
    assert run_log.append(run.id, fence, lines, now=database_now())


def follow(run: Run, query: str = "?follow=true", **headers: str) -> Any:
    client = ApiClient("runs.read")
    return client.client.get(f"/api/v1/runs/{run.id}/log{query}", headers={**client.headers, **headers})


def hang_up(response: Any) -> None:
    """Do what closing the response does, but for the end of the request, which would close the test's database."""
    for close in response._resource_closers:
        close()


def events(pieces: Iterator[bytes]) -> Iterator[tuple[str, str, Any]]:
    """Yield (id, event, data) of what is no sign of life."""
    for piece in pieces:
        lines = dict(line.split(": ", 1) for line in piece.decode().strip().split("\n"))
        if "event" in lines:
            yield lines.get("id", ""), lines["event"], json.loads(lines["data"])


def test_lines_come_as_they_are_written_until_the_end() -> None:
    run, fence = running()
    write(run, fence, "one", "two\nevent: end\ndata: {}\n\n")
    response = follow(run)
    assert (response.status_code, response["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert response["Cache-Control"] == "no-store"
    pieces = iter(response.streaming_content)
    assert next(pieces) == b"retry: 2000\n\n"
    told = events(pieces)
    assert [next(told)[0] for _ in range(2)] == ["1", "2"]
    assert next(pieces) == b": alive\n\n"
    write(run, fence, "three")
    number, event, data = next(told)
    assert (number, event, data["number"], data["message"]) == ("3", "line", 3, "three")
    write(run, fence, "four")
    assert conclude(run.id, fence, ExecutionResult(), now=database_now())
    last, end = list(told)
    state = Run.objects.get(id=run.id).state
    assert (last[2]["message"], end) == ("four", ("", "end", {"state": state, "truncated": False}))


@pytest.mark.parametrize("way", [{"query": "?follow=true&after=2"}, {"Last-Event-ID": "2", "query": "?follow=true"}])
def test_a_broken_off_stream_goes_on_behind_its_last_line(way: dict[str, str]) -> None:
    run, fence = running()
    write(run, fence, "one", "two", "three")
    assert conclude(run.id, fence, ExecutionResult(), now=database_now())
    told = list(events(follow(run, **way).streaming_content))
    assert [each[0] for each in told] == ["3", ""]


def test_a_client_that_accepts_events_gets_them_and_its_errors_in_the_one_shape() -> None:
    run, fence = running()
    assert conclude(run.id, fence, ExecutionResult(), now=database_now())
    assert [each[1] for each in events(follow(run, "", Accept="text/event-stream").streaming_content)] == ["end"]
    ApiClient().get(f"runs/{NOBODY}/log", Accept="text/event-stream").refused(404, "RUN_NOT_FOUND")
    ApiClient("jobs.write").get(f"runs/{run.id}/log?follow=true").refused(403, "PERMISSION_DENIED")
    ApiClient().get(f"runs/{run.id}/log?follow=perhaps").refused(400, "VALIDATION_FAILED")
    assert ApiClient().request("HEAD", f"runs/{run.id}/log?follow=true").status == 200


def test_followers_have_few_places_and_give_them_back_unread_too() -> None:
    run, _ = running()
    first = follow(run)
    second = ApiClient().get(f"runs/{run.id}/log?follow=true")
    second.refused(429, "TOO_MANY_LONG_ANSWERS")
    assert second.headers["Retry-After"] == "6"
    assert ApiClient().get(f"runs/{run.id}/log").status == 200
    for _ in range(2):
        hang_up(first)
    third = follow(run)
    assert next(iter(third.streaming_content))
    hang_up(third)
    assert long_answers.PLACES.take()
    long_answers.PLACES.give_back()


def test_a_stream_ends_when_its_time_is_up_its_process_stops_or_the_database_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the event `end`: the client asks again for the rest."""
    run, fence = running()
    write(run, fence, "one")
    stopping = threading.Event()
    stopping.set()
    monkeypatch.setattr(long_answers, "STOPPING", stopping)
    assert [each[1] for each in events(follow(run).streaming_content)] == ["line"]
    monkeypatch.undo()

    def away(_tail: LogTail) -> Iterator[Any]:
        raise OperationalError("the connection is gone")

    with monkeypatch.context() as patch:
        patch.setattr(LogTail, "lines", away)
        patch.setattr("jobs.log_stream.connection.close", lambda: None)
        assert list(events(follow(run).streaming_content)) == []
    with monkeypatch.context() as patch:
        patch.setattr(log_stream, "STREAM_SECONDS", 0.0)
        assert list(events(follow(run).streaming_content)) == []
