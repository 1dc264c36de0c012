"""Making, changing and deleting windows: each recomputes what waits for them, in the same transaction (B9).

Owns these three writes and their warnings. Claims wait for them and they for claims, so that no run is planned by
windows that are gone; a run that waits otherwise meets the new ones at its admission.
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction

from jobs import windows
from jobs.doorbell import request_pass
from jobs.errors import WindowNameTakenError, no_such_window
from jobs.models import Job, Window
from jobs.objectives import broken_by
from jobs.postponed import recompute_waiting, revive_stuck
from jobs.services.new_job import checked_name
from jobs.window_rows import change_windows, current_rules, rule_of
from repositories.identifiers import new_id
from repositories.models import Repository
from syncova_project.access.services import audit_record
from syncova_project.access.visibility import visible_groups, within_sight
from syncova_project.errors import PermissionDeniedError, ValidationFailedError


@dataclass(frozen=True, slots=True)
class WindowInput:
    """A window as it is asked for: `definition` is the API's JSON without name and level; at most one id is given."""

    name: str
    definition: Mapping[str, Any]
    repository_id: uuid.UUID | None = None
    job_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """A window that was saved, and the names of the jobs whose objectives cannot be kept with it."""

    window: Window
    broken: Sequence[str] = ()


def window_create(new: WindowInput, *, actor: str, now: dt.datetime) -> Saved:
    """Make a window; objectives that it breaks are warnings (B10).

    Raises ValidationFailedError naming fields, or WindowNameTakenError.
    """
    columns = _columns(new)
    with transaction.atomic():
        change_windows()
        row = Window(id=new_id(now), created_at=now, **columns)
        _save(row, insert=True)
        broken = _apply(row, "window.create", actor, now)
    return Saved(row, broken)


def window_change(window_id: uuid.UUID, new: WindowInput, *, actor: str, now: dt.datetime) -> Saved:
    """Replace all of a window but its id. Raises WindowNotFoundError and what `window_create` raises."""
    columns = _columns(new)
    with transaction.atomic():
        change_windows()
        row = _get(window_id)
        _check_reach(row.repository_id or row.job_id)
        before = _told(row)
        for name, value in columns.items():
            setattr(row, name, value)
        _save(row, insert=False)
        broken = _apply(row, "window.change", actor, now, before=before)
    return Saved(row, broken)


def window_delete(window_id: uuid.UUID, *, actor: str, now: dt.datetime) -> None:
    """Delete a window; what it held may start at once. Raises WindowNotFoundError."""
    with transaction.atomic():
        change_windows()
        row = _get(window_id)
        _check_reach(row.repository_id or row.job_id)
        Window.objects.filter(id=window_id).delete()
        _apply(row, "window.delete", actor, now)


def rule_for(new: WindowInput) -> windows.Rule:
    """Return the rule that a window would be; raises ValidationFailedError naming fields. Saves nothing."""
    return rule_of(Window(**_columns(new)))


def name_taken_by(name: str) -> WindowNameTakenError:
    """Return the refusal of a window whose name is that of the window `name`."""
    return WindowNameTakenError(
        f"There is already a window named {name!r}.", hint="Choose another name: capitals alone make none."
    )


def _get(window_id: uuid.UUID) -> Window:
    row = Window.objects.select_for_update().filter(id=window_id).first()
    if row is None:
        raise no_such_window(window_id)
    return row


def _columns(new: WindowInput) -> dict[str, Any]:
    rule = windows.parse(dict(new.definition))
    _check_level(new)
    whose = {"repository_id": new.repository_id, "job_id": new.job_id}
    what = {"name": checked_name(new.name), "kind": rule.kind, "kinds": sorted(rule.kinds)}
    return what | whose | _times(rule.shape)


def _times(shape: windows.Shape) -> dict[str, Any]:
    """Return all columns of both shapes: a change from one to the other leaves nothing behind."""
    none: dict[str, Any] = {"starts_at": None, "ends_at": None, "days": None, "start_time": None}
    none |= {"length_seconds": None, "time_zone": ""}
    if isinstance(shape, windows.OneOff):
        return none | {"starts_at": shape.starts_at, "ends_at": shape.ends_at}
    return none | {
        "days": sorted(shape.days),
        "start_time": shape.start,
        "length_seconds": int(shape.length.total_seconds()),
        "time_zone": shape.zone_name,
    }


def _check_level(new: WindowInput) -> None:
    if new.repository_id is not None and new.job_id is not None:
        raise _invalid("job_id", "a window belongs to a repository or to a job, not to both.")
    if new.repository_id is not None:
        repositories = Repository.objects.filter(id=new.repository_id)
        if not within_sight(repositories, "worker_group").exists():
            raise _invalid("repository_id", "there is no such repository.")
    if new.job_id is not None:
        jobs = Job.objects.filter(id=new.job_id, deleted_at__isnull=True)
        if not within_sight(jobs, "repository__worker_group").exists():
            raise _invalid("job_id", "there is no such job.")
    _check_reach(new.repository_id or new.job_id)


def _check_reach(level: uuid.UUID | None) -> None:
    if level is None and visible_groups() is not None:
        raise PermissionDeniedError(
            "A window of everything holds for repositories that you do not see.",
            hint="Name a repository or a job, or ask somebody who sees all.",
        )


def _save(row: Window, *, insert: bool) -> None:
    try:
        with transaction.atomic():
            row.save(force_insert=insert)
    except IntegrityError as error:
        known = Window.objects.filter(name__iexact=row.name).exclude(id=row.id).first()
        if known is None:
            raise
        raise name_taken_by(known.name) from error


def _told(row: Window) -> dict[str, object]:
    """Return all that a window says, as the trail keeps it."""
    whose = {"repository_id": row.repository_id, "job_id": row.job_id}
    levels = {name: str(value) for name, value in whose.items() if value is not None}
    return {"name": row.name, **levels, **windows.definition_of(rule_of(row))}


def _apply(row: Window, action: str, actor: str, now: dt.datetime, **told: object) -> Sequence[str]:
    """Let the new set of windows hold for what waits; return the jobs whose objectives it breaks."""
    rules = current_rules()
    revive_stuck(rules, now=now)
    recompute_waiting(rules, now=now)
    broken = broken_by(rules, changed=rule_of(row), now=now)
    details = {"kind": row.kind, **_told(row), "breaks_objectives_of": broken, **told}
    audit_record(actor=actor, action=action, subject_type="window", subject_id=row.id, now=now, details=details)
    request_pass()
    return broken


def _invalid(field: str, sentence: str) -> ValidationFailedError:
    return ValidationFailedError(f"{field}: {sentence}", details={field: sentence})
