"""The API of maintenance windows: parse, call, serialize (B9). Decides nothing."""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any

from django.db.models.functions import Lower
from django.utils.translation import gettext
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import examples, windows
from jobs.answers import WINDOW, WINDOW_PREVIEW, WINDOWS
from jobs.database_time import database_now
from jobs.errors import no_such_window
from jobs.models import Window
from jobs.serializers import PageFilter
from jobs.services import WindowInput, window_change, window_create, window_delete
from jobs.services.windows import Saved, rule_for
from jobs.sight import windows_visible
from jobs.window_preview import WindowPreview, names_seen, stopped_by, window_preview
from jobs.window_rows import rule_of
from jobs.window_serializers import WindowBody, WindowPreviewBody
from syncova_project.access.scopes import Scope
from syncova_project.errors import ValidationFailedError
from syncova_project.instants import instant
from syncova_project.paging import Ordering, PageRequest, read_page
from syncova_project.rest import ApiView, Created, actor_of, create_once

BY_NAME = Ordering("name", "name_key")


class WindowsView(ApiView):
    """GET lists windows by name; POST makes one (201), and says which objectives it breaks."""

    scopes = {"GET": (Scope.JOBS_READ,), "POST": (Scope.WINDOWS_WRITE,)}
    keyed = frozenset({"POST"})
    answers = {"GET": WINDOWS, "POST": WINDOW}
    examples = {"POST": examples.WINDOW}
    bodies, queries, statuses = {"POST": WindowBody}, {"GET": PageFilter}, {"POST": 201}

    def get(self, request: Request) -> Response:
        """Return one page of windows."""
        wanted = self.query(request)
        rows = windows_visible().annotate(name_key=Lower("name"))
        page = read_page(rows, PageRequest(BY_NAME, {}, wanted["cursor"], wanted["limit"]))
        return Response({"windows": [window_json(row) for row in page.rows], "next_cursor": page.next_cursor})

    def post(self, request: Request) -> Response:
        """Make a window; what waits is planned anew at once."""
        new = window_input(self.body(request))

        def create() -> Created:
            now = database_now()
            saved = window_create(new, actor=actor_of(request), now=now)
            return Created(201, saved_json(saved, now), f"/api/v1/windows/{saved.window.id}")

        return create_once(request, create)


class WindowView(ApiView):
    """GET shows one window, PUT replaces it, DELETE ends it; what waits is planned anew at once."""

    scopes = {"GET": (Scope.JOBS_READ,), "PUT": (Scope.WINDOWS_WRITE,), "DELETE": (Scope.WINDOWS_WRITE,)}
    answers = {"GET": WINDOW, "PUT": WINDOW}
    examples = {"PUT": examples.WINDOW}
    bodies, statuses = {"PUT": WindowBody}, {"DELETE": 204}

    def get(self, request: Request, window_id: uuid.UUID) -> Response:
        """Return the window, or 404."""
        row = windows_visible().filter(id=window_id).first()
        if row is None:
            raise no_such_window(window_id)
        return Response(window_json(row))

    def put(self, request: Request, window_id: uuid.UUID) -> Response:
        """Return the window as it is now."""
        body, now = self.body(request), database_now()
        said = frozenset(body)
        saved = window_change(window_id, window_input(body), said=said, actor=actor_of(request), now=now)
        return Response(saved_json(saved, now))

    def delete(self, request: Request, window_id: uuid.UUID) -> Response:
        """Delete the window."""
        window_delete(window_id, actor=actor_of(request), now=database_now())
        return Response(status=204)


class WindowPreviewView(ApiView):
    """POST tells what a window does, before it is saved: its openings, what it moves, which objectives it breaks."""

    scopes = {"POST": (Scope.JOBS_READ,)}
    answers = {"POST": WINDOW_PREVIEW}
    examples = {"POST": examples.WINDOW_PREVIEW}
    bodies = {"POST": WindowPreviewBody}

    def post(self, request: Request) -> Response:
        """Return the preview; nothing is saved."""
        body, now = self.body(request), database_now()
        count, replaces = body.pop("count"), body.pop("replaces", None)
        if replaces is not None and not windows_visible().filter(id=replaces).exists():
            told = f"There is no window {replaces}."
            raise ValidationFailedError(told, hint="List them with: GET /api/v1/windows", details={"replaces": told})
        preview = window_preview(rule_for(window_input(body)), count, replaces=replaces, now=now)
        return Response(preview_json(preview))


def window_input(body: dict[str, Any]) -> WindowInput:
    """Return the validated body as what the service takes."""
    name, repository_id, job_id = body.pop("name"), body.pop("repository_id", None), body.pop("job_id", None)
    return WindowInput(name, body, repository_id, job_id)


def saved_json(saved: Saved, now: dt.datetime) -> dict[str, Any]:
    """Return a window that was saved, with what its maker should know."""
    stopped = stopped_by(rule_of(saved.window), saved_as=saved.window.id, now=now)
    return {**window_json(saved.window), "warnings": _warnings(names_seen(saved.broken), stopped)}


def preview_json(preview: WindowPreview) -> dict[str, Any]:
    """Return what a window does: `starts_at` of a moved start is null where windows leave none within 31 days."""
    return {
        "openings": [{"starts_at": instant(one.start), "ends_at": instant(one.end)} for one in preview.openings],
        "moved": [
            {
                "job": {"id": str(one.job.id), "name": one.job.name},
                "planned": instant(one.planned),
                "starts_at": instant(one.starts_at),
            }
            for one in preview.moved
        ],
        "warnings": _warnings(preview.broken, preview.stopped),
    }


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


def _warnings(broken: Sequence[str], stopped: Sequence[str]) -> list[str]:
    late = gettext("With this window the job %(name)s cannot keep its recovery point objective.")
    never = gettext("With this window the job %(name)s has planned instants that find no free one within 31 days.")
    return [*(late % {"name": name} for name in broken), *(never % {"name": name} for name in stopped)]
