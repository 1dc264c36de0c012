"""The API of one repository's page: parse, read, serialize (7.3). It stands here, since it tells of checks, too."""

import datetime as dt
import uuid
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.database_time import database_now
from jobs.proof import proof_now, proofs_by_day
from repositories.answers import REPOSITORY_PAGE
from repositories.figures import NO_BACKUPS, backups_by_day, figures_json, trend_start
from repositories.selectors import repository_get
from repositories.serializers import repository_json
from syncova_project.access.scopes import Scope
from syncova_project.rest import ApiView


class RepositoryView(ApiView):
    """GET shows one repository, with what its backups came to and how much of it is proven: in all, and by day."""

    scopes = {"GET": (Scope.REPOSITORIES_READ,)}
    answers = {"GET": REPOSITORY_PAGE}

    def get(self, request: Request, repository_id: uuid.UUID) -> Response:
        """Return the repository, or 404; `trend` has those of the last 30 days (UTC) with a backup or a proof."""
        shown = repository_json(repository_get(repository_id))
        figures = {**figures_json(repository_id), "proof": proof_now(repository_id)}
        return Response({**shown, "figures": figures, "trend": trend_json(repository_id, now=database_now())})


def trend_json(repository_id: uuid.UUID, *, now: dt.datetime) -> list[dict[str, Any]]:
    """Return what each day brought and what its last check had proven, oldest first, without days of neither."""
    since = trend_start(now)
    backups, proofs = backups_by_day(repository_id, since=since), proofs_by_day(repository_id, since=since)
    return [
        {"day": day.isoformat(), **backups.get(day, NO_BACKUPS), "proof": proofs.get(day)}
        for day in sorted({*backups, *proofs})
    ]
