"""Making, changing and deleting windows: each recomputes what waits for them, in the same transaction (B9).

Owns these three writes and their warnings. Claims wait for them and they for claims, so that no run is planned by
windows that are gone; a run that waits otherwise meets the new ones at its admission. A job's own windows are part of
it: a change of them is a revision of the job.
"""

import datetime as dt
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db import IntegrityError, transaction

from jobs import windows
from jobs.doorbell import request_pass
from jobs.errors import WindowNameTakenError, no_such_window
from jobs.models import Job, Window
from jobs.objectives import broken_by
from jobs.postponed import recompute_waiting, revive_stuck, stuck_jobs
from jobs.revisions import snapshot_of
from jobs.services.job_rows import lock_jobs
from jobs.services.job_trail import write_down
from jobs.services.new_job import checked_name
from jobs.window_rows import change_windows, current_rules, rule_of
from repositories.identifiers import new_id
from repositories.models import Repository
from syncova_project.access.services import audit_record
from syncova_project.access.visibility import visible_groups, within_sight
from syncova_project.errors import PermissionDeniedError, ValidationFailedError

# What a window may hold for alone.
LEVELS: Final = ("repository_id", "job_id")


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
    _columns(new)
    with _changing(actor, now, job_id=new.job_id):
        return window_insert(new, actor=actor, now=now)


def window_change(
    window_id: uuid.UUID, new: WindowInput, *, said: Collection[str] = LEVELS, actor: str, now: dt.datetime
) -> Saved:
    """Replace all of a window but its id; `said` are those of LEVELS that were asked for, be it as null.

    Raises WindowNotFoundError, ValidationFailedError where a window of one repository or job would come to hold for
    everything and nobody said so, and what `window_create` raises.
    """
    _columns(new)
    with _changing(actor, now, job_id=new.job_id, window_id=window_id):
        row = _get(window_id)
        _check_reach(row.repository_id or row.job_id)
        _refuse_unsaid(row, new, said)
        return window_rewrite(row, new, actor=actor, now=now)


def window_delete(window_id: uuid.UUID, *, actor: str, now: dt.datetime) -> None:
    """Delete a window; what it held may start at once. Raises WindowNotFoundError."""
    with _changing(actor, now, window_id=window_id):
        row = _get(window_id)
        _check_reach(row.repository_id or row.job_id)
        window_remove(row, actor=actor, now=now)


def window_insert(new: WindowInput, *, actor: str, now: dt.datetime) -> Saved:
    """Make a window in the caller's transaction, which holds the lock of windows and of the window's job."""
    row = Window(id=new_id(now), created_at=now, **_columns(new))
    _save(row, insert=True)
    return Saved(row, _apply(row, "window.create", actor, now))


def window_rewrite(row: Window, new: WindowInput, *, actor: str, now: dt.datetime) -> Saved:
    """Replace a window in the caller's transaction, which holds the locks of `window_insert`."""
    before = window_told(row)
    for name, value in _columns(new).items():
        setattr(row, name, value)
    _save(row, insert=False)
    return Saved(row, _apply(row, "window.change", actor, now, before=before))


def window_remove(row: Window, *, actor: str, now: dt.datetime) -> None:
    """Delete a window in the caller's transaction, which holds the locks of `window_insert`."""
    Window.objects.filter(id=row.id).delete()
    _apply(row, "window.delete", actor, now)


def rule_for(new: WindowInput) -> windows.Rule:
    """Return the rule that a window would be; raises ValidationFailedError naming fields. Saves nothing."""
    return rule_of(Window(**_columns(new)))


def name_taken_by(name: str) -> WindowNameTakenError:
    """Return the refusal of a window whose name is that of the window `name`."""
    return WindowNameTakenError(
        f"There is already a window named {name!r}.", hint="Choose another name: capitals alone make none."
    )


@contextmanager
def _changing(
    actor: str, now: dt.datetime, *, job_id: uuid.UUID | None = None, window_id: uuid.UUID | None = None
) -> Iterator[None]:
    """Open the transaction of a change of a window; whose it was and will be, that job then has its next revision."""
    with transaction.atomic():
        change_windows()
        of_window = Window.objects.filter(id__in=[window_id] if window_id else [], job__isnull=False)
        owners = {*of_window.values_list("job_id", flat=True), *([job_id] if job_id else [])}
        jobs = [job for job in lock_jobs(owners | stuck_jobs()).values() if job.id in owners]
        before = {job.id: snapshot_of(job) for job in jobs}
        yield
        for job in jobs:
            write_down(job, before[job.id], actor, now)


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


def _refuse_unsaid(row: Window, new: WindowInput, said: Collection[str]) -> None:
    if new.repository_id or new.job_id:
        return
    for name in LEVELS:
        if getattr(row, name) is not None and name not in said:
            raise _invalid(name, f"the window has {getattr(row, name)} now: send it, or null for everything.")


def _save(row: Window, *, insert: bool) -> None:
    try:
        with transaction.atomic():
            row.save(force_insert=insert)
    except IntegrityError as error:
        known = Window.objects.filter(name__iexact=row.name).exclude(id=row.id).first()
        if known is None:
            raise
        raise name_taken_by(known.name) from error


def window_told(row: Window) -> dict[str, object]:
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
    details = {"kind": row.kind, **window_told(row), "breaks_objectives_of": broken, **told}
    audit_record(actor=actor, action=action, subject_type="window", subject_id=row.id, now=now, details=details)
    request_pass()
    return broken


def _invalid(field: str, sentence: str) -> ValidationFailedError:
    return ValidationFailedError(f"{field}: {sentence}", details={field: sentence})
