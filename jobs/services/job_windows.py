"""Making a job together with windows of its own, in one transaction (7.1, B9), and judging them before it is made.

Owns the order: windows may change only before anything is planned by them, and the job's objective is judged with its
own windows in force.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction

from jobs import windows
from jobs.models import Job, Window
from jobs.services.jobs import job_create
from jobs.services.new_job import NewJob, checked_name
from jobs.services.windows import WindowInput, name_taken_by, window_create
from jobs.window_rows import change_windows
from syncova_project.errors import ValidationFailedError


def job_create_with_windows(new: NewJob, wanted: Sequence[Mapping[str, Any]], *, actor: str, now: dt.datetime) -> Job:
    """Make a job and its windows; `wanted` are windows as the API takes them, with a `name` and without a level.

    Raises what `job_create` and `window_create` raise, the fields of a window below `windows.0`; then nothing is made.
    """
    if not wanted:
        return job_create(new, actor=actor, now=now)
    own = own_rules(wanted)
    with transaction.atomic():
        # Those who plan by windows share this lock; taken later, two that make jobs would wait for each other.
        change_windows()
        job = job_create(new, actor=actor, now=now, own=own)
        for window in wanted:
            window_create(WindowInput(window["name"], _definition(window), job_id=job.id), actor=actor, now=now)
    return job


def own_rules(wanted: Sequence[Mapping[str, Any]]) -> list[windows.Rule]:
    """Return the rules of a new job's windows, as yet nobody's; errors name fields below `windows.0`."""
    rules = []
    for position, window in enumerate(wanted):
        try:
            rules.append(_rule(window))
        except ValidationFailedError as error:
            details = {f"windows.{position}.{name}": told for name, told in error.details.items()}
            raise ValidationFailedError(error.message, hint=error.hint, details=details) from error
    return rules


def refuse_taken_name(wanted: Sequence[Mapping[str, Any]]) -> None:
    """Raise what making the last of the windows would, where its name is that of another."""
    *earlier, last = (checked_name(window["name"]) for window in wanted)
    same = next((name for name in earlier if name.upper() == last.upper()), None)
    known = Window.objects.filter(name__iexact=last).first()
    if known is not None or same is not None:
        raise name_taken_by(known.name if known is not None else str(same))


def _rule(window: Mapping[str, Any]) -> windows.Rule:
    rule = windows.parse(_definition(window))
    return replace(rule, name=checked_name(window["name"]), level=windows.Level.JOB)


def _definition(window: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in window.items() if name != "name"}
