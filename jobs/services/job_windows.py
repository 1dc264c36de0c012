"""Windows of a job's own, as its body has them: judged before they are there, made with it and replaced as a list.

Owns which of a job's windows stay, change, end or begin (7.1, B9). The caller's transaction, which holds the lock of
windows and of the job.
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import TextField, Value
from django.db.models.functions import Cast, Concat

from jobs import windows
from jobs.models import Job, Window
from jobs.services.new_job import checked_name
from jobs.services.windows import (
    WindowInput,
    name_taken_by,
    window_insert,
    window_remove,
    window_rewrite,
    window_told,
)
from syncova_project.errors import ValidationFailedError


@dataclass(frozen=True, slots=True)
class _Pairs:
    """What becomes of each window: `meant` are those that were named, with what they are to be."""

    meant: list[tuple[Window, Mapping[str, Any]]] = field(default_factory=list)
    added: list[Mapping[str, Any]] = field(default_factory=list)
    ended: list[Window] = field(default_factory=list)


def own_rules(wanted: Sequence[Mapping[str, Any]]) -> list[windows.Rule]:
    """Return the rules of a job's windows, as yet nobody's; the error names all fields that are wrong, each below
    `windows.0` or another window's place.
    """
    rules, problems = list[windows.Rule](), dict[str, str]()
    for position, window in enumerate(wanted):
        try:
            rules.append(_rule(window))
        except ValidationFailedError as error:
            problems |= {f"windows.{position}.{name}": str(told) for name, told in error.details.items()}
    if problems:
        raise windows.WindowInvalidError.of(problems)
    return rules


def previewed_rules(wanted: Sequence[Mapping[str, Any]], job_id: uuid.UUID | None) -> list[windows.Rule]:
    """Return the rules that `wanted` would be, were they the windows of a job, or of one that is not there yet."""
    _paired(wanted, job_id)
    return own_rules(wanted)


def refuse_taken_name(wanted: Sequence[Mapping[str, Any]]) -> None:
    """Raise what making the last of the windows would, where its name is that of another."""
    *earlier, last = (checked_name(window["name"]) for window in wanted)
    same = next((name for name in earlier if name.upper() == last.upper()), None)
    known = Window.objects.filter(name__iexact=last).first()
    if known is not None or same is not None:
        raise name_taken_by(known.name if known is not None else str(same))


def make_windows(job: Job, wanted: Sequence[Mapping[str, Any]], *, actor: str, now: dt.datetime) -> None:
    """Make windows of a job; raises WindowNameTakenError. Their fields are checked: `own_rules` names them."""
    for window in wanted:
        window_insert(_input(window, job), actor=actor, now=now)


def replace_windows(job: Job, wanted: Sequence[Mapping[str, Any]], *, actor: str, now: dt.datetime) -> None:
    """Let a job have exactly these windows: by their ids, then by their names; one that stays as it is is not written.

    Raises ValidationFailedError with fields below `windows.0`, and WindowNameTakenError.
    """
    own_rules(wanted)
    pairs = _paired(wanted, job.id)
    # First, so that their names are free.
    for row in pairs.ended:
        window_remove(row, actor=actor, now=now)
    _free_names(pairs)
    for row, window in pairs.meant:
        if window_told(row) != _told_of(window, job):
            window_rewrite(row, _input(window, job), actor=actor, now=now)
    make_windows(job, pairs.added, actor=actor, now=now)


def _free_names(pairs: _Pairs) -> None:
    """Let windows that are to be renamed have no name that another is to take, until they have their own."""
    renamed = [row.id for row, window in pairs.meant if checked_name(window["name"]) != row.name]
    Window.objects.filter(id__in=renamed).update(name=Concat(Value("renamed "), Cast("id", TextField())))


def _paired(wanted: Sequence[Mapping[str, Any]], job_id: uuid.UUID | None) -> _Pairs:
    """Raise ValidationFailedError for an id that is none of the job's, or is named twice."""
    rows = Window.objects.filter(job_id=job_id).order_by("name", "id") if job_id is not None else ()
    pairs, left, nameless = _Pairs(), {row.id: row for row in rows}, list[Mapping[str, Any]]()
    for position, window in enumerate(wanted):
        if "id" not in window:
            nameless.append(window)
            continue
        row = left.pop(window["id"], None)
        if row is None:
            name, sentence = f"windows.{position}.id", "is no window of this job, or is named twice."
            raise ValidationFailedError(f"{name}: {sentence}", details={name: sentence})
        pairs.meant.append((row, window))
    for window in nameless:
        name = checked_name(window["name"]).upper()
        same = next((row for row in left.values() if row.name.upper() == name), None)
        if same is None:
            pairs.added.append(window)
        else:
            pairs.meant.append((left.pop(same.id), window))
    pairs.ended.extend(left.values())
    return pairs


def _rule(window: Mapping[str, Any]) -> windows.Rule:
    rule = windows.parse(_definition(window))
    return replace(rule, name=checked_name(window["name"]), level=windows.Level.JOB)


def _told_of(window: Mapping[str, Any], job: Job) -> dict[str, object]:
    rule = _rule(window)
    return {"name": rule.name, "job_id": str(job.id), **windows.definition_of(rule)}


def _input(window: Mapping[str, Any], job: Job) -> WindowInput:
    return WindowInput(window["name"], _definition(window), job_id=job.id)


def _definition(window: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in window.items() if name not in ("id", "name")}
