"""Short operations on repositories that are no runs: opening one for the first time.

Owns their order: access, engine, report. The web process opens no repository, so these are tasks of its group.
"""

import logging
import uuid

from jobs.database_time import database_now
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import ErrorInfo, Event, Failed, Opened
from repositories.engine.storage.remote_locations import is_remote
from repositories.errors import RepositoryUnknownError
from repositories.opening import RepositoryAccess, repository_access
from repositories.services import repository_inspected, repository_inspection_failed
from repositories.vault import SecretUnreadableError
from syncova_project.errors import ConfigurationError
from workers import drain
from workers.database import until_done
from workers.engine_request import engine_environment, info_request
from workers.engine_run import follow
from workers.media import reached
from workers.openings import Look, record_look
from workers.outcome import clean

logger = logging.getLogger(__name__)


def inspect(repository_id: uuid.UUID) -> None:
    """Open a registered repository and report its id (A10) or why it does not open. May be repeated."""
    try:
        access = until_done(lambda: repository_access(repository_id=repository_id), give_up=drain.requested)
    except RepositoryUnknownError:
        logger.info("Repository %s is not inspected: it is gone", repository_id)
        return
    except SecretUnreadableError as error:
        _report(repository_id, error.code, error.message)
        return
    if access is None:
        return
    try:
        _open(reached(access))
    except ConfigurationError as error:
        _report(repository_id, error.code, f"{error.message} {error.hint}".rstrip())


def _open(access: RepositoryAccess) -> None:
    opened: list[Opened] = []

    def handle(event: Event) -> None:
        if isinstance(event, Opened):
            opened.append(event)

    with EngineProcess(info_request(access), environment=engine_environment()) as process:
        last = follow(process, handle=handle, stop=drain.requested)
    if opened:
        until_done(lambda: _seen(access, opened[0]))
    elif not drain.requested():
        error = last.error if isinstance(last, Failed) else ErrorInfo(code="ENGINE_PROTOCOL", message="no id was told")
        _report(access.id, error.code, _reason(error, access))


def _seen(access: RepositoryAccess, opened: Opened) -> None:
    row = repository_inspected(repository_id=access.id, repository_hex=opened.repository_id, now=database_now())
    if row.repository_id == opened.repository_id:
        record_look(Look(access.id, None, access.remembered, opened.seen, opened.earlier_state))


def _reason(error: ErrorInfo, access: RepositoryAccess) -> str:
    # What is amiss with a remote medium is mended on this worker's machine, which no program that asks knows.
    return f"{error.message}; {error.hint}" if error.hint and is_remote(access.location) else error.message


def _report(repository_id: uuid.UUID, code: str, message: str) -> None:
    until_done(
        lambda: repository_inspection_failed(
            repository_id=repository_id, code=clean(code, 100), message=clean(message), now=database_now()
        )
    )
