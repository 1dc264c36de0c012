"""The API of maintenance windows: parse, call, serialize (B9). Decides nothing."""

import uuid
from typing import Any

from django.db.models.functions import Lower
from django.utils.translation import gettext
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import windows
from jobs.database_time import database_now
from jobs.errors import no_such_window
from jobs.models import Window
from jobs.serializers import PageFilter, WindowBody
from jobs.services import WindowInput, window_change, window_create, window_delete
from jobs.services.windows import Saved
from jobs.window_rows import rule_of
from syncova_project.access.scopes import Scope
from syncova_project.instants import instant
from syncova_project.paging import Ordering, PageRequest, read_page
from syncova_project.rest import ApiView, Created, actor_of, create_once

BY_NAME = Ordering("name", "name_key")


class WindowsView(ApiView):
    """GET lists windows by name; POST makes one (201), and says which objectives it breaks."""

    scopes = {"GET": (Scope.JOBS_READ,), "POST": (Scope.JOBS_WRITE,)}
    bodies, queries, statuses = {"POST": WindowBody}, {"GET": PageFilter}, {"POST": 201}

    def get(self, request: Request) -> Response:
        """Return one page of windows."""
        wanted = self.query(request)
        rows = Window.objects.annotate(name_key=Lower("name"))
        page = read_page(rows, PageRequest(BY_NAME, {}, wanted["cursor"], wanted["limit"]))
        return Response({"windows": [window_json(row) for row in page.rows], "next_cursor": page.next_cursor})

    def post(self, request: Request) -> Response:
        """Make a window; what waits is planned anew at once."""
        new = window_input(self.body(request))

        def create() -> Created:
            saved = window_create(new, actor=actor_of(request), now=database_now())
            return Created(201, saved_json(saved), f"/api/v1/windows/{saved.window.id}")

        return create_once(request, create)


class WindowView(ApiView):
    """GET shows one window, PUT replaces it, DELETE ends it; what waits is planned anew at once."""

    scopes = {"GET": (Scope.JOBS_READ,), "PUT": (Scope.JOBS_WRITE,), "DELETE": (Scope.JOBS_WRITE,)}
    bodies, statuses = {"PUT": WindowBody}, {"DELETE": 204}

    def get(self, request: Request, window_id: uuid.UUID) -> Response:
        """Return the window, or 404."""
        row = Window.objects.filter(id=window_id).first()
        if row is None:
            raise no_such_window(window_id)
        return Response(window_json(row))

    def put(self, request: Request, window_id: uuid.UUID) -> Response:
        """Return the window as it is now."""
        new = window_input(self.body(request))
        return Response(saved_json(window_change(window_id, new, actor=actor_of(request), now=database_now())))

    def delete(self, request: Request, window_id: uuid.UUID) -> Response:
        """Delete the window."""
        window_delete(window_id, actor=actor_of(request), now=database_now())
        return Response(status=204)


def window_input(body: dict[str, Any]) -> WindowInput:
    """Return the validated body as what the service takes."""
    name, repository_id, job_id = body.pop("name"), body.pop("repository_id", None), body.pop("job_id", None)
    return WindowInput(name, body, repository_id, job_id)


def saved_json(saved: Saved) -> dict[str, Any]:
    """Return a window that was saved, with what its maker should know."""
    warnings = [
        gettext("With this window the job %(name)s cannot keep its recovery point objective.") % {"name": name}
        for name in saved.broken
    ]
    return {**window_json(saved.window), "warnings": warnings}


def window_json(row: Window) -> dict[str, Any]:
    """Return a window; one whose zone is unknown by now still shows what it holds."""
    return {
        "id": str(row.id),
        "name": row.name,
        "repository_id": str(row.repository_id) if row.repository_id else None,
        "job_id": str(row.job_id) if row.job_id else None,
        **windows.definition_of(rule_of(row)),
        "created_at": instant(row.created_at),
    }
