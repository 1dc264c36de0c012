"""The API of runs: parse, call, serialize (E1, E2, E4). Decides nothing."""

import itertools
import uuid
from typing import Any

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.database_time import database_now
from jobs.listing import RUN_ORDERINGS, HeldSentences
from jobs.log_stream import LogStream
from jobs.lookup_answers import LOG
from jobs.negotiation import OwnForm
from jobs.representations import RunPage, event_json, log_json, run_json, run_page_json
from jobs.run_answers import EVENTS, RUN, RUN_PAGE, RUNS
from jobs.run_log import LogTail
from jobs.searching import read_runs
from jobs.selectors import backups_gone, events_of, findings_of, follower_of, run_get, task_runs_of
from jobs.serializers import LogFilter, PositionFilter, RunFilter
from jobs.services import run_cancel
from syncova_project.access.scopes import Scope
from syncova_project.access.standing import Standing
from syncova_project.paging import PageRequest
from syncova_project.rest import ApiView, NoBody, actor_of

READ = (Scope.JOBS_READ, Scope.RUNS_READ)


def runs_page(filters: dict[str, Any]) -> Response:
    """Return one page of runs by validated filters (serializers.RunFilter)."""
    cursor, limit, ordering = filters.pop("cursor"), filters.pop("limit"), filters.pop("ordering")
    page = read_runs(filters, PageRequest(RUN_ORDERINGS[ordering], filters, cursor, limit))
    sentences = HeldSentences()
    return Response({"runs": [run_json(run, sentences) for run in page.rows], "next_cursor": page.next_cursor})


class RunsView(ApiView):
    """GET lists runs of every kind, newest first."""

    scopes = {"GET": READ}
    answers = {"GET": RUNS}
    queries = {"GET": RunFilter}

    def get(self, request: Request) -> Response:
        """Return one page of runs."""
        return runs_page(self.query(request))


class RunView(ApiView):
    """GET shows one run with its sources."""

    scopes = {"GET": READ}
    answers = {"GET": RUN_PAGE}

    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """Return the run, or 404."""
        run = run_get(run_id)
        page = RunPage(run, list(task_runs_of(run)), findings_of(run), follower_of(run), backups_gone(run))
        return Response(run_page_json(page, HeldSentences()))


class RunCancelView(ApiView):
    """POST asks a run to end: 202, since a running one ends when its worker has seen it (E2)."""

    scopes = {"POST": (Scope.JOBS_RUN,)}
    answers = {"POST": RUN}
    bodies, statuses = {"POST": NoBody}, {"POST": 202}

    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Return the run; 409 when it has ended. Repeating it is harmless."""
        self.body(request)
        run_cancel(run_id=run_id, actor=actor_of(request), now=database_now())
        return Response(run_json(run_get(run_id), HeldSentences()), status=202)


class RunEventsView(ApiView):
    """GET lists what happened to a run, oldest first."""

    scopes = {"GET": READ}
    answers = {"GET": EVENTS}
    queries = {"GET": PositionFilter}

    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """Return up to `limit` events; a run has few, so they come in one piece as a rule."""
        position = self.query(request)
        events = events_of(run_get(run_id)).filter(id__gt=position["after"])[: position["limit"]]
        return Response({"events": [event_json(event) for event in events]})


class RunLogView(ApiView):
    """GET reads a run's log, oldest line first; with `follow`, or where events are accepted, it stays and tells more.

    Then it is a stream of server-sent events: `line` for each line, `end` once the run has ended. One that breaks off
    before goes on behind the line that the header Last-Event-ID names; `refused` is for who may not read it any more.
    """

    content_negotiation_class = OwnForm
    scopes = {"GET": READ}
    queries, answers, media = {"GET": LogFilter}, {"GET": LOG}, {"GET": "text/event-stream"}

    def get(self, request: Request, run_id: uuid.UUID) -> HttpResponseBase:
        """Return up to `limit` lines after the given one, or the stream."""
        position = self.query(request)
        run = run_get(run_id)
        if request.method == "GET" and (position["follow"] or _wants_events(request)):
            return _stream(LogStream(run.id, _last_seen(request, position["after"]), Standing(request, READ)))
        chosen = itertools.islice(LogTail(run.id, position["after"]).lines(), position["limit"])
        lines = [log_json(number, line) for number, line in chosen]
        return Response({"lines": lines, "truncated": run.log_truncated})


def _stream(pieces: LogStream) -> StreamingHttpResponse:
    # A proxy that gathers the answer before it hands it on would tell nothing until the end.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(pieces, content_type="text/event-stream; charset=utf-8", headers=headers)


def _wants_events(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("Accept", "")


def _last_seen(request: Request, after: int) -> int:
    number = request.headers.get("Last-Event-ID", "")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 19 else after
