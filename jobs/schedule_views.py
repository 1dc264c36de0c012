"""The API of schedules as things of their own: which there are, and in which state each is (7.5, H7).

Parse, read, serialize. A job's page shows its own; this lists those of all jobs, above all the ones that plan nothing.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.answers import SCHEDULES
from jobs.models import Schedule
from jobs.representations import schedule_json
from jobs.serializers import ScheduleFilter
from syncova_project.access.scopes import Scope
from syncova_project.access.visibility import within_sight
from syncova_project.paging import Ordering, PageRequest, read_page
from syncova_project.rest import ApiView

OLDEST: Final = Ordering("id")
_FILTERS: Final[Mapping[str, str]] = {
    "job": "job_id",
    "repository": "job__repository_id",
    "state": "state",
    "type": "kind",
}


class SchedulesView(ApiView):
    """GET lists the schedules of all jobs, oldest first; their events and decisions are those of their jobs."""

    scopes = {"GET": (Scope.JOBS_READ,)}
    queries, answers = {"GET": ScheduleFilter}, {"GET": SCHEDULES}

    def get(self, request: Request) -> Response:
        """Return one page of schedules; a paused job's plan nothing either, whatever their state."""
        filters = self.query(request)
        cursor, limit = filters.pop("cursor"), filters.pop("limit")
        rows = _kept().filter(**{_FILTERS[name]: value for name, value in filters.items()})
        page = read_page(rows, PageRequest(OLDEST, filters, cursor, limit))
        return Response({"schedules": [_shown(row) for row in page.rows], "next_cursor": page.next_cursor})


def _kept() -> QuerySet[Schedule]:
    seen = within_sight(Schedule.objects.select_related("job"), "job__repository__worker_group")
    return seen.filter(deleted_at__isnull=True, job__deleted_at__isnull=True)


def _shown(row: Schedule) -> dict[str, Any]:
    status = "active" if row.job.paused_at is None else "paused"
    return {**schedule_json(row), "job": {"id": str(row.job_id), "name": row.job.name, "status": status}}
