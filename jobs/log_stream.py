"""A run's log as server-sent events: each line with its number as id, until the run has ended or the time is up.

Owns the form of the stream and its bounds. A stream that ends without the event `end` is gone on with by the header
Last-Event-ID, as browsers do by themselves; a client that hangs up is noticed at the next sign of life. Who may not
read the log any more is told so by the event `refused`, after a few seconds: a stream outlives no token.
"""

import json
import logging
import uuid
from collections.abc import Generator
from functools import partial
from typing import Final

from django.db import Error, connection

from jobs.models import Run
from jobs.representations import log_json
from jobs.run_log import LogTail
from jobs.selectors import run_get
from jobs.states import FINISHED_STATES
from syncova_project import clock
from syncova_project.access.standing import Standing, Watch
from syncova_project.database_faults import is_away, reason_of
from syncova_project.error_shape import answer_to
from syncova_project.web.long_answers import PLACES, TooManyLongAnswersError, pause

STREAM_SECONDS: Final = 600.0
ALIVE_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 1.0
# How long a browser waits before it asks for the rest.
_BEGIN: Final = b"retry: 2000\n\n"
_ALIVE: Final = b": alive\n\n"

logger = logging.getLogger(__name__)


class LogStream:
    """The pieces of one follower's stream; it holds one of this process's places for long answers until `close`.

    Raises TooManyLongAnswersError where there is none. No generator, which would not give the place back if nobody
    began to read it.
    """

    def __init__(self, run_id: uuid.UUID, after: int, reader: Standing) -> None:
        if not PLACES.take():
            raise TooManyLongAnswersError(
                "This server can serve no more followers of logs at the moment.",
                hint="Read the log in pages meanwhile, without follow; SYNCOVA_WEB_THREADS makes more places.",
            )
        self._pieces = _until_away(_pieces(run_id, after, Watch(reader, partial(run_get, run_id))))
        self._has_place = True

    def __iter__(self) -> "LogStream":
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)

    def close(self) -> None:
        """End the stream; may be repeated."""
        self._pieces.close()
        if self._has_place:
            self._has_place = False
            PLACES.give_back()


def _until_away(pieces: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
    try:
        yield from pieces
    except Error as error:
        if not is_away(error):
            raise
        # Its answer has begun: the client asks again for the rest.
        logger.warning("A log is not followed any more: %s", reason_of(error))
        connection.close()


def _pieces(run_id: uuid.UUID, after: int, reader: Watch) -> Generator[bytes, None, None]:
    tail, ends_at, alive_at = LogTail(run_id, after), clock.monotonic() + STREAM_SECONDS, clock.monotonic()
    yield _BEGIN
    while clock.monotonic() < ends_at:
        if (refusal := reader.refusal()) is not None:
            yield _event("refused", answer_to(refusal).body()["error"])
            return
        # Before the lines: a run that has ended writes no more.
        state = Run.objects.filter(pk=run_id).values_list("state", "log_truncated").first()
        for number, line in tail.lines():
            yield _event("line", log_json(number, line), number)
            alive_at = clock.monotonic()
        if state is None or state[0] in FINISHED_STATES:
            yield _event("end", None if state is None else {"state": state[0], "truncated": state[1]})
            return
        if clock.monotonic() - alive_at >= ALIVE_SECONDS:
            yield _ALIVE
            alive_at = clock.monotonic()
        if not pause(LOOK_SECONDS):
            return


def _event(name: str, data: object, number: int | None = None) -> bytes:
    # JSON has no line break of its own, so that no line of a log can end an event or begin another.
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data)}\n\n".encode()
