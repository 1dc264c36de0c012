"""Making a job together with windows of its own, in one transaction (7.1, B9).

Owns the order: windows may change only before anything is planned by them, and the job's objective is judged with its
own windows in force.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from jobs.models import Job
from jobs.objectives import plans_of, refuse_broken_rpo
from jobs.services.jobs import job_create
from jobs.services.new_job import NewJob
from jobs.services.windows import WindowInput, rule_for, window_create
from jobs.window_rows import change_windows
from syncova_project.errors import ValidationFailedError


def job_create_with_windows(new: NewJob, wanted: Sequence[Mapping[str, Any]], *, actor: str, now: dt.datetime) -> Job:
    """Make a job and its windows; `wanted` are windows as the API takes them, with a `name` and without a level.

    Raises what `job_create` and `window_create` raise, the fields of a window below `windows.0`; then nothing is made.
    """
    if not wanted:
        return job_create(new, actor=actor, now=now)
    with transaction.atomic():
        # Those who plan by windows share this lock; taken later, two that make jobs would wait for each other.
        change_windows()
        job = job_create(new, actor=actor, now=now)
        for position, window in enumerate(wanted):
            _create(job, position, window, actor, now)
        refuse_broken_rpo(job, plans_of(job), now=now)
    return job


def window_problems(wanted: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the sentences of each field of a new job's windows that is refused; saves nothing."""
    problems: dict[str, list[str]] = {}
    for position, window in enumerate(wanted):
        try:
            rule_for(_input(window))
        except ValidationFailedError as error:
            for name, told in error.details.items():
                problems.setdefault(f"windows.{position}.{name}", []).append(str(told))
    return problems


def _input(window: Mapping[str, Any], job: Job | None = None) -> WindowInput:
    definition = {name: value for name, value in window.items() if name != "name"}
    return WindowInput(window["name"], definition, job_id=job.id if job else None)


def _create(job: Job, position: int, window: Mapping[str, Any], actor: str, now: dt.datetime) -> None:
    try:
        window_create(_input(window, job), actor=actor, now=now)
    except ValidationFailedError as error:
        details = {f"windows.{position}.{name}": told for name, told in error.details.items()}
        raise ValidationFailedError(error.message, hint=error.hint, details=details) from error
