"""Planned instants as people see them before anything is saved: DST shifts, windows and what merges marked (B6, D1).

Owns the form. Pure: the instants are those that claims plan by, the rules those of the caller, and when a run may start
is asked of the function that claims ask.
"""

import datetime as dt
import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jobs import calendar, windows
from jobs.calendar.plans import Start
from jobs.states import DecisionOutcome

POSTPONED: Final = str(DecisionOutcome.POSTPONED)
NO_FREE_INSTANT: Final = str(DecisionOutcome.NO_FREE_INSTANT)
COALESCED: Final = str(DecisionOutcome.COALESCED)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run of the job that waits until `until` at least: up to then it stands for all that falls due."""

    planned: dt.datetime
    until: dt.datetime

    def stands_for(self, instant: dt.datetime) -> bool:
        """Whether an instant merges into it; a pass claims before it admits, so the very moment `until` does."""
        return instant <= self.until


def preview_rows(
    plans: Sequence[calendar.Plan],
    rules: Sequence[windows.Rule],
    *,
    start: dt.datetime,
    count: int,
    waiting: Waiting | None = None,
) -> list[dict[str, Any]]:
    """Return the next instants of the plans of one job after `start`; `rules` are those that apply to its backups.

    Where windows shut an instant, which one does, and when its run starts (None: within 31 days never). What comes
    before a run starts merges into it: `waiting` is one that is there already. How long runs take is not known here.
    """
    # Walked side by side: twenty rare expressions cost no more than what is shown of them.
    merged = heapq.merge(*(_placed(plan, start) for plan in plans), key=lambda placed: placed[0][0])
    rows = []
    for one, plan in itertools.islice(merged, count):
        row, waiting = _row(plan.occurrence(one), rules, waiting)
        rows.append(row)
    return rows


def _placed(plan: calendar.Plan, after: dt.datetime) -> Iterator[tuple[Start, calendar.Plan]]:
    for start in plan.starts(after):
        yield start, plan


def _row(
    one: calendar.Occurrence, rules: Sequence[windows.Rule], waiting: Waiting | None
) -> tuple[dict[str, Any], Waiting | None]:
    """Return one instant, and the run that waits after it."""
    notes = [str(note) for note in one.notes]
    row: dict[str, Any] = {"utc": _utc(one.instant), "local": one.local.isoformat(), "notes": notes}
    answer = windows.next_free(rules, one.instant)
    if answer.block is not None:
        row["window"] = {"code": str(answer.block.code), "name": answer.block.name}
    if answer.instant is None:
        # Before all else, as a claim has it: no run is made, so none merges.
        return row | {"notes": [*notes, NO_FREE_INSTANT], "starts_at": None}, waiting
    if waiting is not None and waiting.stands_for(one.instant):
        told = {"starts_at": _utc(waiting.until), "merges_into": _utc(waiting.planned)}
        return row | {"notes": [*notes, COALESCED], **told}, waiting
    if answer.block is not None:
        row |= {"notes": [*notes, POSTPONED], "starts_at": _utc(answer.instant)}
    return row, Waiting(one.instant, answer.instant)


def _utc(instant: dt.datetime) -> str:
    return instant.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
