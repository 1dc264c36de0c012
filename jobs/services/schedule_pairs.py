"""Which schedules of a job stay, change, end or begin when a list replaces them: by id, then by meaning. Pure.

Owns the pairing and its refusals. A schedule that means what it meant is left alone: its next instant was promised.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs import calendar
from jobs.errors import ScheduleAmbiguousError
from jobs.models import Schedule
from jobs.services.new_job import NewSchedule
from jobs.states import ScheduleState
from syncova_project.errors import ValidationFailedError

Pair = tuple[Schedule, NewSchedule]


@dataclass(frozen=True, slots=True)
class Pairs:
    """What becomes of each schedule: `kept` ones take at most another policy for missed runs."""

    kept: list[Pair] = field(default_factory=list)
    changed: list[Pair] = field(default_factory=list)
    ended: list[Schedule] = field(default_factory=list)
    added: list[NewSchedule] = field(default_factory=list)


def split_ids(
    definitions: Sequence[Mapping[str, Any]],
) -> tuple[list[dict[str, Any]], list[uuid.UUID | None]]:
    """Return the definitions without their ids, and those; raises ValidationFailedError for what is no id."""
    plain = [{name: value for name, value in one.items() if name != "id"} for one in definitions]
    ids = [_id(one.get("id"), f"schedules.{index}.id") for index, one in enumerate(definitions)]
    return plain, ids


def only_schedule(rows: Sequence[Schedule]) -> list[uuid.UUID | None]:
    """Return the id that `schedule` stands for: the only one, or None for a first one.

    Raises ScheduleAmbiguousError where there are several.
    """
    if len(rows) > 1:
        raise ScheduleAmbiguousError(
            f"The job has {len(rows)} schedules: schedule does not say which.",
            hint="Give schedules, a list with all that it is to have; an id beside the type keeps that one's history.",
            details={"schedules": [str(row.id) for row in rows]},
        )
    return [rows[0].id if rows else None]


def paired(rows: Sequence[Schedule], wanted: Sequence[NewSchedule], ids: Sequence[uuid.UUID | None]) -> Pairs:
    """Return what becomes of `rows` when the job is to have exactly `wanted`; `ids` say which of them are meant.

    Raises ValidationFailedError for an id that is none of the job's, or is named twice.
    """
    pairs, left = Pairs(), {row.id: row for row in rows}
    nameless: list[NewSchedule] = []
    for index, (one, row_id) in enumerate(zip(wanted, ids, strict=True)):
        if row_id is None:
            nameless.append(one)
            continue
        row = left.pop(row_id, None)
        if row is None:
            raise _invalid(f"schedules.{index}.id", "is no schedule of this job, or is named twice.")
        _put(pairs, row, one)
    for one in nameless:
        same = next((row for row in left.values() if _means(row, one)), None)
        if same is None:
            pairs.added.append(one)
        else:
            _put(pairs, left.pop(same.id), one)
    pairs.ended.extend(left.values())
    return pairs


def _put(pairs: Pairs, row: Schedule, one: NewSchedule) -> None:
    stays = row.state == ScheduleState.ACTIVE and _means(row, one)
    (pairs.kept if stays else pairs.changed).append((row, one))


def _means(row: Schedule, one: NewSchedule) -> bool:
    try:
        known = calendar.parse(row.definition, anchor=row.anchor)
    except calendar.ScheduleInvalidError:
        return False
    return dict(known.definition()) == dict(one.plan.definition())


def _id(value: object, name: str) -> uuid.UUID | None:
    if value is None:
        return None
    try:
        return uuid.UUID(str(value))
    except ValueError:
        raise _invalid(name, "is no id.") from None


def _invalid(name: str, sentence: str) -> ValidationFailedError:
    return ValidationFailedError(f"{name}: {sentence}", details={name: sentence})
