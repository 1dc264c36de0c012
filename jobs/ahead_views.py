"""The API that looks ahead: a body of a new job with all that is wrong with it, and when schedules are due (7.1, B6).

Parse, call, serialize. Saves nothing.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from jobs import calendar, examples, windows
from jobs.answers import PREVIEW, VALIDATION
from jobs.database_time import database_now
from jobs.flags import UNPLANNABLE
from jobs.job_preview import job_preview, waiting_run
from jobs.listing import job_listed
from jobs.models import Job, Schedule
from jobs.preview_serializers import CountFilter, JobPreviewBody
from jobs.previews import preview_rows
from jobs.representations import schedule_json
from jobs.selectors import schedule_words
from jobs.sentences import flag_sentence
from jobs.serializers import ONE_OF_BOTH, JobInput
from jobs.services.job_rows import seen_repository
from jobs.services.job_validation import job_problems
from jobs.services.job_windows import previewed_rules
from jobs.services.new_job import parsed_schedules
from jobs.states import RunKind
from jobs.views import changed_fields
from jobs.window_rows import current_rules
from syncova_project.access.scopes import Scope
from syncova_project.errors import ValidationFailedError
from syncova_project.gathering import gather
from syncova_project.rest import ApiView

_BY_HAND: Final = {"type": "manual"}


class JobValidateView(ApiView):
    """POST judges the body of a new job: all errors at once, by field. Nothing is saved."""

    scopes = {"POST": (Scope.JOBS_WRITE,)}
    answers = {"POST": VALIDATION}
    examples = {"POST": examples.NEW_JOB}
    bodies = {"POST": JobInput}

    def post(self, request: Request) -> Response:
        """Return whether a job can be made of it, and the sentences of each field that is refused."""
        read = gather(JobInput(), request.data)
        values, unread = read.values, {name.split(".")[0] for name in read.errors}
        single = values.pop("schedule", None)
        if single is not None and "schedules" in values:
            read.note("schedule", [ONE_OF_BOTH])
        elif single is not None:
            values["schedules"] = [single]
        wanted = values.pop("windows", ())
        found = job_problems({**changed_fields(values), "windows": wanted}, unread=unread, now=database_now())
        for name, sentences in found.items():
            place = read.place(name)
            # What has not the right form has been told of, and is stood in for.
            if place not in read.errors:
                read.note(place, sentences)
        return Response({"valid": not read.errors, "errors": read.errors})


class PreviewView(ApiView):
    """POST tells when schedules are due, before they are saved, with DST shifts and the windows that hold now (B6)."""

    scopes = {"POST": (Scope.JOBS_READ,)}
    answers = {"POST": PREVIEW}
    examples = {"POST": examples.SCHEDULE_PREVIEW}
    bodies = {"POST": JobPreviewBody}

    def post(self, request: Request) -> Response:
        """Return each schedule in words, and the next instants of all together."""
        body, now = self.body(request), database_now()
        start = body.get("from") or now
        if "schedule" in body and "schedules" in body:
            raise ValidationFailedError(ONE_OF_BOTH, details={"schedule": ONE_OF_BOTH})
        given = [body["schedule"]] if "schedule" in body else body.get("schedules", [])
        # A job without schedules runs by hand, and its preview says so.
        plans = [one.plan for one in parsed_schedules(given or [_BY_HAND], now=start)]
        job, repository_id = None, body.get("repository_id")
        if repository_id is not None:
            # Its windows are told, so that it has to be one that the caller sees.
            seen_repository(repository_id)
        if body.get("job_id") is not None:
            job = job_listed(body["job_id"])
            repository_id = repository_id or job.repository_id
        rules = _rules(repository_id, job, body.get("windows"))
        waiting = waiting_run(job, rules, start=start, now=now) if job else None
        rows = preview_rows(plans, rules, start=start, count=body["count"], waiting=waiting)
        return Response({"descriptions": [plan.describe() for plan in plans], "instants": rows})


class JobPreviewView(ApiView):
    """GET tells when a job is due next, with DST shifts and the windows that hold now (B6)."""

    scopes = {"GET": (Scope.JOBS_READ,)}
    answers = {"GET": PREVIEW}
    queries = {"GET": CountFilter}

    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return its schedules in words, and its next instants; a paused job shows those that it would have."""
        asked, job, now = self.query(request), job_listed(job_id), database_now()
        rows = job_preview(job, start=asked.get("from") or now, count=asked["count"], now=now)
        told = {"descriptions": _saved_descriptions(job), "instants": rows}
        return Response(told | {"paused": job.paused_at is not None})


def _saved_descriptions(job: Job) -> list[str]:
    """Return each schedule of a job in words, one that plans nothing with the reason; without any, "only by hand"."""
    kept = Schedule.objects.filter(job=job, deleted_at__isnull=True).order_by("id")
    return [_described(one) for one in kept] or [calendar.parse(_BY_HAND, anchor=job.created_at).describe()]


def _described(schedule: Schedule) -> str:
    words = str(schedule_json(schedule)["description"])
    # Newer zone data may know what it was flagged for; planned it is with the next claim.
    is_flagged = schedule.state_code == UNPLANNABLE and not schedule_words(schedule)[1]
    return f"{words}: {flag_sentence(schedule)}" if is_flagged else words


def _rules(
    repository_id: uuid.UUID | None, job: Job | None, wanted: Sequence[Mapping[str, Any]] | None
) -> Sequence[windows.Rule]:
    """Return what holds its backups; `wanted`, where they are given, stand in place of the job's own windows."""
    job_id = job.id if job else None
    owners = {"repository": str(repository_id or ""), "job": str(job_id or "")}
    rules = windows.applicable(current_rules(), RunKind.BACKUP, **owners)
    if wanted is None:
        return rules
    others = [rule for rule in rules if rule.level is not windows.Level.JOB]
    own = [replace(rule, owner=owners["job"]) for rule in previewed_rules(wanted, job_id)]
    return windows.applicable([*others, *own], RunKind.BACKUP, **owners)
