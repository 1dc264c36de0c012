"""Collects the problems of one backup: counts by kind, the list in the manifest, the first ones for the result.

Owns severities under `strict`, and that notes are only counted. Memory is bounded: the list is a stream.
"""

from collections import Counter

from repositories.engine.manifest.chunks import ChunkSink
from repositories.engine.manifest.entries import StreamRef
from repositories.engine.manifest.problems import (
    SEVERITIES,
    Problem,
    ProblemCount,
    ProblemKind,
    ProblemRecord,
    Severity,
)
from repositories.engine.manifest.streams import StreamWriter

SHOWN = 100


class ProblemLog:
    """Takes problems from walk, reading and metadata."""

    def __init__(self, sink: ChunkSink, *, strict: bool) -> None:
        self._strict = strict
        self._stream = StreamWriter(sink)
        self._counts: Counter[tuple[Severity, ProblemKind]] = Counter()
        self._shown: dict[Severity, list[Problem]] = {Severity.SKIPPED: [], Severity.WARNING: []}

    def report(self, kind: ProblemKind, path: bytes, detail: str) -> None:
        """Take one problem; `path` is relative to the source."""
        severity = SEVERITIES[kind]
        if severity is Severity.WARNING and self._strict:
            severity = Severity.SKIPPED
        self._counts[severity, kind] += 1
        if severity is Severity.NOTE:
            return
        self._stream.add(ProblemRecord(int(severity), str(kind), path, detail))
        shown = self._shown[severity]
        if len(shown) < SHOWN:
            shown.append(Problem(severity, kind, path, detail))

    def total(self, severity: Severity) -> int:
        """Return how many problems of a severity there were."""
        return sum(count for (of, _), count in self._counts.items() if of is severity)

    def any_of(self, kind: ProblemKind) -> bool:
        """Return whether a kind of problem was reported."""
        return any(each is kind for _, each in self._counts)

    def counts(self) -> tuple[ProblemCount, ...]:
        """Return the summary for the root, worst first."""
        return tuple(ProblemCount(int(of), str(kind), count) for (of, kind), count in sorted(self._counts.items()))

    def first(self) -> list[Problem]:
        """Return up to 100 problems, skipped before warnings."""
        return (self._shown[Severity.SKIPPED] + self._shown[Severity.WARNING])[:SHOWN]

    def finish(self) -> StreamRef | None:
        """Close the list; return its top."""
        return self._stream.finish()
