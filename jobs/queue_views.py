"""The API of the queue: parse, read, serialize (7.2). Decides nothing."""

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.database_time import database_now
from jobs.listing import HeldSentences
from jobs.queue_listing import queue_page
from jobs.representations import run_json
from jobs.run_answers import QUEUE
from jobs.run_views import READ
from jobs.serializers import QueueFilter
from syncova_project.rest import ApiView


class QueueView(ApiView):
    """GET lists what waits, in the order in which it will be looked at, each with why it waits (C1, C3)."""

    scopes = {"GET": READ}
    answers = {"GET": QUEUE}
    queries = {"GET": QueueFilter}

    def get(self, request: Request) -> Response:
        """Return one page of waiting runs; `position` is the place in the whole queue, `waiting` its length."""
        filters = self.query(request)
        cursor, limit = filters.pop("cursor"), filters.pop("limit")
        page, sentences = queue_page(filters, cursor, limit, now=database_now()), HeldSentences()
        rows = [{"position": one.position, **run_json(one.run, sentences)} for one in page.rows]
        return Response({"queue": rows, "waiting": page.waiting, "next_cursor": page.next_cursor})
