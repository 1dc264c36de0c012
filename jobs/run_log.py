"""Log lines of runs in compressed chunks, at most 64 KiB each and 4 MiB a run (H6).

Owns reading and writing of `run_log_chunks`. Only the run's executor writes, guarded by its fence; what comes after
the bound is dropped and the run says so.
"""

import datetime as dt
import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import zstandard
from django.db import transaction
from django.db.models import F, Max, QuerySet, Value
from django.db.models.functions import Coalesce

from jobs.models import Run, RunLogChunk
from jobs.models.log import MAX_CHUNK_BYTES
from jobs.models.run_constraints import MAX_LOG_BYTES
from jobs.states import RunState

# Raw bytes of one chunk: text that does not compress at all still fits the bound of a row with zstd's frame.
_RAW_CHUNK_BYTES: Final = MAX_CHUNK_BYTES - 1024
_WINDOW_BYTES: Final = 1024 * 1024
_CHUNKS_AT_ONCE: Final = 8
MAX_LINE_BYTES: Final = 8 * 1024


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line: when, how grave (info, warning, error), what."""

    at: dt.datetime
    level: str
    message: str


def append(run_id: uuid.UUID, fence: int, lines: Sequence[LogLine], *, now: dt.datetime) -> bool:
    """Append lines to a running run's log; False: the run is no longer this executor's, nothing was written."""
    chunks = [(zstandard.compress(raw), count) for raw, count in _chunks(lines)]
    with transaction.atomic():
        mine = Run.objects.filter(id=run_id, fence=fence, state=RunState.RUNNING)
        run = mine.select_for_update(no_key=True).values_list("log_bytes", flat=True).first()
        if run is None:
            return False
        _insert(run_id, chunks, room=MAX_LOG_BYTES - run, now=now)
    return True


def read(run_id: uuid.UUID) -> Iterator[LogLine]:
    """Yield the lines of a run's log in the order of their writing."""
    return (line for _, line in LogTail(run_id).lines())


class LogTail:
    """Reads a log as it grows: each call of `lines` yields those that were written since, to be read to their end."""

    def __init__(self, run_id: uuid.UUID, after: int = 0) -> None:
        """Begin behind line `after`; lines are numbered from 1 on."""
        self._run_id, self._after = run_id, after
        self._sequence, self._number = -1, 0

    def lines(self) -> Iterator[tuple[int, LogLine]]:
        """Yield (number, line); a few chunks at a time are held, and none that lies wholly before the beginning."""
        if self._number < self._after:
            self._skip()
        while chunks := list(self._later().values_list("sequence", "data")[:_CHUNKS_AT_ONCE]):
            for sequence, data in chunks:
                for line in _decoded(bytes(data)):
                    self._number += 1
                    if self._number > self._after:
                        yield self._number, line
                self._sequence = sequence

    def _skip(self) -> None:
        for sequence, count in self._later().values_list("sequence", "lines"):
            if self._number + count > self._after:
                return
            self._sequence, self._number = sequence, self._number + count

    def _later(self) -> QuerySet[RunLogChunk]:
        return RunLogChunk.objects.filter(run_id=self._run_id, sequence__gt=self._sequence).order_by("sequence")


def _decoded(data: bytes) -> Iterator[LogLine]:
    # No chunk holds more than one raw chunk, so that a damaged frame cannot claim gigabytes.
    with zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES).stream_reader(data) as reader:
        text = reader.read(MAX_CHUNK_BYTES)
    for line in text.decode().splitlines():
        at, level, message = json.loads(line)
        yield LogLine(dt.datetime.fromisoformat(at), level, message)


def _insert(run_id: uuid.UUID, chunks: list[tuple[bytes, int]], *, room: int, now: dt.datetime) -> None:
    newest = RunLogChunk.objects.filter(run_id=run_id).aggregate(last=Coalesce(Max("sequence"), Value(-1)))["last"]
    taken = 0
    rows = []
    for data, count in chunks:
        if taken + len(data) > room:
            break
        taken += len(data)
        newest += 1
        rows.append(RunLogChunk(run_id=run_id, sequence=newest, data=data, lines=count, created_at=now))
    RunLogChunk.objects.bulk_create(rows)
    values = {"log_bytes": F("log_bytes") + taken} if taken else {}
    if len(rows) < len(chunks):
        Run.objects.filter(id=run_id).update(log_truncated=True, **values)
    elif values:
        Run.objects.filter(id=run_id).update(**values)


def _chunks(lines: Sequence[LogLine]) -> Iterator[tuple[bytes, int]]:
    gathered, count = bytearray(), 0
    for line in lines:
        raw = _encode(line)
        if gathered and len(gathered) + len(raw) > _RAW_CHUNK_BYTES:
            yield bytes(gathered), count
            gathered, count = bytearray(), 0
        gathered += raw
        count += 1
    if gathered:
        yield bytes(gathered), count


def _encode(line: LogLine) -> bytes:
    """One line of JSON: messages may hold line breaks and any control character of a hostile file name."""
    message = line.message.encode("utf-8", "replace")[:MAX_LINE_BYTES].decode("utf-8", "ignore")
    return json.dumps([line.at.isoformat(), line.level, message]).encode() + b"\n"
