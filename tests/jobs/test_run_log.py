"""Logs of runs: compressed, bounded, in order, hostile names unharmed (H6)."""

import datetime as dt
import random

import pytest

from jobs import run_log
from jobs.models import Run, RunLogChunk
from jobs.models.log import MAX_CHUNK_BYTES
from jobs.models.run_constraints import MAX_LOG_BYTES
from jobs.run_log import LogLine
from tests.jobs.builders import NOW, make_run

pytestmark = pytest.mark.django_db


def line(message: str, level: str = "info") -> LogLine:
    return LogLine(NOW, level, message)


def noise(count: int, size: int) -> list[LogLine]:
    """Lines that no compression makes smaller than about half."""
    rng = random.Random(7)
    return [line(rng.randbytes(size // 2).hex()) for _ in range(count)]


def test_lines_come_back_in_order_over_several_appends() -> None:
    run = make_run(state="running")
    fence = run.fence or 0
    assert run_log.append(run.id, fence, [line("one"), line("two", "warning")], now=NOW)
    assert run_log.append(run.id, fence, [line("three", "error")], now=NOW)
    assert [(each.level, each.message) for each in run_log.read(run.id)] == [
        ("info", "one"),
        ("warning", "two"),
        ("error", "three"),
    ]
    assert next(run_log.read(run.id)).at == NOW


@pytest.mark.parametrize("message", ["a\nb\r\n\u2028c", "\0\x1b[31m\u202e", "\ud800 lone", "", "ü" * 9000])
def test_a_message_is_one_line_whatever_it_holds(message: str) -> None:
    run = make_run(state="running")
    run_log.append(run.id, run.fence or 0, [line(message), line("next")], now=NOW)
    told = list(run_log.read(run.id))
    assert len(told) == 2
    assert len(told[0].message.encode()) <= run_log.MAX_LINE_BYTES
    if len(message) < 100 and "\ud800" not in message:
        assert told[0].message == message


def test_chunks_are_bounded() -> None:
    run = make_run(state="running")
    run_log.append(run.id, run.fence or 0, noise(100, 8000), now=NOW)
    sizes = [len(bytes(data)) for data in RunLogChunk.objects.values_list("data", flat=True)]
    assert len(sizes) > 5
    assert max(sizes) <= MAX_CHUNK_BYTES
    assert len(list(run_log.read(run.id))) == 100


def test_a_run_keeps_four_mebibytes_and_says_so() -> None:
    run = make_run(state="running")
    for _ in range(6):
        assert run_log.append(run.id, run.fence or 0, noise(200, 8000), now=NOW)
    run.refresh_from_db()
    assert run.log_truncated
    assert MAX_LOG_BYTES - MAX_CHUNK_BYTES <= run.log_bytes <= MAX_LOG_BYTES
    stored = sum(len(bytes(data)) for data in RunLogChunk.objects.values_list("data", flat=True))
    assert stored == run.log_bytes


def test_only_the_runs_executor_writes() -> None:
    run = make_run(state="running")
    assert not run_log.append(run.id, (run.fence or 0) - 1, [line("late")], now=NOW)
    Run.objects.filter(id=run.id).update(state="succeeded", finished_at=NOW + dt.timedelta(seconds=1))
    assert not run_log.append(run.id, run.fence or 0, [line("late")], now=NOW)
    assert not RunLogChunk.objects.exists()
