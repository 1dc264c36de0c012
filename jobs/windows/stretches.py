"""When windows are shut, one stretch after the other: what objectives and simulations walk along.

Owns the walk over edges. Touching and overlapping windows make one stretch.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobs.states import WindowKind
from jobs.windows.free import next_free
from jobs.windows.rules import Level, Rule


@dataclass(frozen=True, slots=True)
class Stretch:
    """Shut from `start` up to but without `end`; None: nothing is free within the reach after `start`."""

    start: dt.datetime
    end: dt.datetime | None


def shut_stretches(rules: Sequence[Rule], start: dt.datetime, end: dt.datetime) -> Iterator[Stretch]:
    """Yield the stretches that begin in [start, end), in order; one that covers `start` begins there.

    `rules` are those that apply to the run.
    """
    at: dt.datetime | None = start
    while rules and at is not None and at < end:
        answer = next_free(rules, at)
        if answer.block is not None:
            yield Stretch(at, answer.instant)
            at = answer.instant
        else:
            at = _next_shut(rules, at, end)


def _next_shut(rules: Sequence[Rule], at: dt.datetime, end: dt.datetime) -> dt.datetime | None:
    """Return the first shut instant after the free instant `at`, None when none comes before `end`."""
    edges = [rule.shape.next_start(at, end) for rule in rules if rule.kind is WindowKind.BLACKOUT]
    for level in Level:
        allowed = [rule for rule in rules if rule.kind is WindowKind.ALLOWED and rule.level is level]
        if allowed:
            edges.append(_end_of_opening(allowed, at, end))
    return min((edge for edge in edges if edge is not None and edge < end), default=None)


def _end_of_opening(allowed: Sequence[Rule], at: dt.datetime, end: dt.datetime) -> dt.datetime | None:
    """Return when none of the windows of a level is open any more."""
    while at < end:
        openings = [opening for rule in allowed if (opening := rule.shape.covering(at)) is not None]
        if not openings:
            return at
        at = max(opening.end for opening in openings)
    return None
