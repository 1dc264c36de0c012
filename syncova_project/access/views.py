"""The API of access control: parse, call, serialize. Decides nothing."""

from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from syncova_project.access.scopes import Scope
from syncova_project.access.selectors import audit_matching
from syncova_project.access.serializers import AuditFilter, audit_json
from syncova_project.paging import Ordering, PageRequest, read_page
from syncova_project.rest import ApiView

NEWEST: Final = Ordering("-at", "at", descending=True)


class AuditView(ApiView):
    """GET lists who did what, newest first; filters: actor, action, subject, time."""

    scopes = {"GET": (Scope.AUDIT_READ,)}
    queries = {"GET": AuditFilter}

    def get(self, request: Request) -> Response:
        """Return one page of the audit trail."""
        filters = self.query(request)
        cursor, limit = filters.pop("cursor"), filters.pop("limit")
        page = read_page(audit_matching(filters), PageRequest(NEWEST, filters, cursor, limit))
        return Response({"entries": [audit_json(entry) for entry in page.rows], "next_cursor": page.next_cursor})
