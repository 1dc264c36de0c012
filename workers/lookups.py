"""Looking into backups for the web process, which opens no repository: one question at a time in each worker process.

Owns the order claim, engine, answer, next. What a lookup may take is bounded: somebody waits for it, and so does the
next one.
"""

import os
import socket
import uuid
from functools import partial
from typing import Any

import msgspec

from jobs.database_time import database_now
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import ErrorInfo, Event, Failed, Finished, Log
from repositories.engine.process.requests import LookOrder, Request
from repositories.errors import RepositoryUnknownError
from repositories.lookup_rows import MAX_ANSWER_BYTES, RepositoryLookup
from repositories.lookups import SECONDS, LookupOutcome, lookup_claim, lookup_close
from repositories.opening import RepositoryAccess, repository_access
from repositories.vault import SecretUnreadableError
from syncova_project import clock
from syncova_project.errors import ConfigurationError
from workers import drain
from workers.database import until_done
from workers.engine_request import access_of, engine_environment
from workers.engine_run import follow
from workers.media import reached
from workers.outcome import clean

_GRACE_SECONDS = 2.0
_MOST_WARNINGS = 20
# What is sealed is a little longer than what cannot be compressed.
_MOST_BYTES = MAX_ANSWER_BYTES - 16 * 1024


def look(lookup_id: uuid.UUID) -> None:
    """Answer a lookup, and then those of its group that wait meanwhile. May be repeated."""
    place = f"{socket.gethostname()}:{os.getppid()}"
    row = until_done(lambda: lookup_claim(lookup_id, worker=place, now=database_now()), give_up=drain.requested)
    while row is not None:
        outcome = answer_of(row)
        close = partial(lookup_close, row, outcome, worker=place)
        row = until_done(lambda close=close: close(now=database_now()), give_up=drain.requested)  # type: ignore[misc]


def answer_of(row: RepositoryLookup) -> LookupOutcome:
    """Return what the engine found, or why it could not look; an outcome without either where this worker ends."""
    try:
        order = msgspec.json.decode(row.question, type=LookOrder)
        access = until_done(partial(repository_access, repository_id=row.repository_id), give_up=drain.requested)
        return LookupOutcome() if access is None else _looked(row, order, reached(access))
    except (SecretUnreadableError, ConfigurationError, RepositoryUnknownError) as error:
        return LookupOutcome(code=error.code, message=clean(error.message), hint=clean(error.hint))
    except msgspec.ValidationError as error:
        return LookupOutcome(code="ENGINE_PROTOCOL", message=clean(f"the question is none: {error}"))


def _looked(row: RepositoryLookup, order: LookOrder, access: RepositoryAccess) -> LookupOutcome:
    request = Request(operation=row.operation, repository=access_of(access), look=order)  # type: ignore[arg-type]
    warnings: list[str] = []

    def handle(event: Event) -> None:
        if isinstance(event, Log) and event.level != "info" and len(warnings) < _MOST_WARNINGS:
            warnings.append(clean(event.message))

    ends_at = clock.monotonic() + SECONDS

    def over() -> bool:
        return drain.requested() or clock.monotonic() >= ends_at

    with EngineProcess(request, environment=engine_environment()) as process:
        last = follow(process, handle=handle, stop=over, grace_seconds=_GRACE_SECONDS)
    if isinstance(last, Finished):
        return _bounded({**last.result, "warnings": warnings})
    if drain.requested():
        return LookupOutcome()
    return _failed(last, too_late=clock.monotonic() >= ends_at)


def _bounded(answer: dict[str, Any]) -> LookupOutcome:
    if len(msgspec.json.encode(answer)) > _MOST_BYTES:
        return LookupOutcome(code="LOOKUP_TOO_LARGE", message="One entry alone is larger than an answer may be.")
    return LookupOutcome(answer=answer)


def _failed(last: Failed, *, too_late: bool) -> LookupOutcome:
    if too_late:
        return LookupOutcome(
            code="LOOKUP_TIMEOUT",
            message=f"Looking took longer than {SECONDS:.0f} s.",
            hint="On the machine that reaches the repository, syncova-repo ls and find have no such limit.",
        )
    error: ErrorInfo = last.error
    return LookupOutcome(code=clean(error.code, 100), message=clean(error.message), hint=clean(error.hint))
