"""The API of backups: parse, read, serialize (7.4, H3). Reads the catalogue, opens no repository, decides nothing."""

import uuid
from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from repositories.answers import BACKUP, BACKUPS
from repositories.backup_listing import BACKUP_ORDERINGS, backup_get, backups_matching
from repositories.backup_serializers import BackupFilter, backup_json
from syncova_project.access.scopes import Scope
from syncova_project.paging import PageRequest, read_page
from syncova_project.rest import ApiView

READ: Final = (Scope.REPOSITORIES_READ, Scope.RUNS_READ)


class BackupsView(ApiView):
    """GET lists the backups of all repositories, newest first."""

    scopes = {"GET": READ}
    queries, answers = {"GET": BackupFilter}, {"GET": BACKUPS}

    def get(self, request: Request) -> Response:
        """Return one page of backups."""
        filters = self.query(request)
        cursor, limit, ordering = filters.pop("cursor"), filters.pop("limit"), filters.pop("ordering")
        page = read_page(backups_matching(filters), PageRequest(BACKUP_ORDERINGS[ordering], filters, cursor, limit))
        return Response({"backups": [backup_json(backup) for backup in page.rows], "next_cursor": page.next_cursor})


class BackupView(ApiView):
    """GET shows one backup by its id in the catalogue."""

    scopes, answers = {"GET": READ}, {"GET": BACKUP}

    def get(self, request: Request, backup_id: uuid.UUID) -> Response:
        """Return the backup, or 404."""
        return Response(backup_json(backup_get(backup_id)))
