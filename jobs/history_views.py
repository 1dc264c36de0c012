"""The API of a job's past: its revisions, what happened to its schedules, and what became of instants (H1, H7).

Parse, read, serialize. Decides nothing; sentences are made when they are read. A deleted job keeps its past.
"""

import uuid
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.answers import DECISIONS, REVISIONS, SCHEDULE_EVENTS
from jobs.job_names import shown_snapshots
from jobs.listing import job_remembered
from jobs.models import JobRevision, ScheduleDecision, ScheduleEvent
from jobs.schedule_sentences import event_sentence
from jobs.sentences import decision_sentence
from jobs.serializers import PageFilter
from syncova_project.access.scopes import Scope
from syncova_project.instants import instant
from syncova_project.paging import Ordering, PageRequest, read_page
from syncova_project.rest import ApiView

NEWEST_REVISION: Final = Ordering("-number", "number", descending=True)
NEWEST: Final = Ordering("-id", descending=True)


class JobRevisionsView(ApiView):
    """GET lists what a job was, newest first: each revision, who made it, and what it changed (H1)."""

    scopes = {"GET": (Scope.JOBS_READ,)}
    answers = {"GET": REVISIONS}
    queries = {"GET": PageFilter}

    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return one page of revisions; 404 when there never was such a job."""
        wanted, job = self.query(request), job_remembered(job_id)
        rows = JobRevision.objects.filter(job=job)
        page = read_page(rows, PageRequest(NEWEST_REVISION, {"job": job_id}, wanted["cursor"], wanted["limit"]))
        before = rows.filter(number__lt=page.rows[-1].number).order_by("-number").first() if page.rows else None
        kept = pairwise([*page.rows, before])
        jobs = shown_snapshots([row.snapshot for row in page.rows])
        shown = [_revision_json(row, earlier, job) for (row, earlier), job in zip(kept, jobs, strict=True) if row]
        return Response({"revisions": shown, "next_cursor": page.next_cursor})


class JobDecisionsView(ApiView):
    """GET lists why planned instants of a job did not become runs of their own, newest first (H7)."""

    scopes = {"GET": (Scope.JOBS_READ,)}
    answers = {"GET": DECISIONS}
    queries = {"GET": PageFilter}

    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return one page of decisions; 404 when there never was such a job."""
        wanted, job = self.query(request), job_remembered(job_id)
        rows = ScheduleDecision.objects.filter(schedule__job=job)
        page = read_page(rows, PageRequest(NEWEST, {"job": job_id}, wanted["cursor"], wanted["limit"]))
        return Response({"decisions": [decision_json(row) for row in page.rows], "next_cursor": page.next_cursor})


class JobScheduleEventsView(ApiView):
    """GET lists what happened to the schedules of a job, newest first, those that it has no more included (H7)."""

    scopes = {"GET": (Scope.JOBS_READ,)}
    answers = {"GET": SCHEDULE_EVENTS}
    queries = {"GET": PageFilter}

    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return one page of events; 404 when there never was such a job."""
        wanted, job = self.query(request), job_remembered(job_id)
        rows = ScheduleEvent.objects.filter(schedule__job=job)
        page = read_page(rows, PageRequest(NEWEST, {"job": job_id}, wanted["cursor"], wanted["limit"]))
        return Response({"events": [_event_json(row) for row in page.rows], "next_cursor": page.next_cursor})


def decision_json(row: ScheduleDecision) -> dict[str, Any]:
    """Return what became of a range of planned instants, both ends included."""
    return {
        "schedule_id": str(row.schedule_id),
        "first_at": instant(row.first_at),
        "last_at": instant(row.last_at),
        "count": row.count,
        "count_is_minimum": row.count_is_minimum,
        "outcome": row.outcome,
        "reason_code": row.reason_code,
        "sentence": decision_sentence(row),
        "run_id": str(row.run_id) if row.run_id else None,
    }


def _event_json(row: ScheduleEvent) -> dict[str, Any]:
    return {
        "schedule_id": str(row.schedule_id),
        "at": instant(row.at),
        "code": row.code,
        "parameters": row.parameters,
        "actor": row.actor or None,
        "sentence": event_sentence(row),
    }


def _revision_json(row: JobRevision, earlier: JobRevision | None, job: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "number": row.number,
        "created_at": instant(row.created_at),
        "created_by": row.created_by,
        "changed": _changed(row.snapshot, earlier.snapshot) if earlier is not None else [],
        "job": job,
    }


def _changed(after: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    # Revisions from before there was a field have none: it begins with what it is for all of them.
    return sorted(name for name in after if name in before and after[name] != before[name])
