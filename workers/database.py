"""Database work that outlasts an outage: tried again with a fresh connection until it is done or pointless.

Owns the difference between "the database is away" (wait) and "the statement is wrong" (raise). Knows no run.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection
from psycopg2.errorcodes import READ_ONLY_SQL_TRANSACTION

from syncova_project import clock

T = TypeVar("T")

# What a database that is away can raise; `is_away` tells it from a fault of ours.
FAULTS: Final = (OperationalError, InterfaceError, InternalError)
PAUSE_SECONDS = 1.0

logger = logging.getLogger(__name__)


def is_away(error: DatabaseError | InterfaceError) -> bool:
    """Tell whether waiting can help: no connection, or a server that takes no writes for now (a failover)."""
    if isinstance(error, InternalError):
        return bool(getattr(error.__cause__, "pgcode", None) == READ_ONLY_SQL_TRANSACTION)
    return isinstance(error, OperationalError | InterfaceError)


def forget_connection() -> None:
    """Drop this thread's connection, so that the next query opens a fresh one; never raises for a dead one."""
    try:
        connection.close()
    except FAULTS:
        connection.connection = None


def attempt(action: Callable[[], T]) -> T | None:
    """Run `action` once; None, with the connection dropped, when the database is away."""
    try:
        return action()
    except FAULTS as error:
        if not is_away(error):
            raise
        logger.warning("The database does not answer: %s", str(error).strip())
        forget_connection()
        return None


def until_done(action: Callable[[], T], *, give_up: Callable[[], bool] = lambda: False) -> T | None:
    """Run `action` until the database answers, for as long as it takes; None once `give_up` says so.

    `action` is one transaction that may be run again: when an answer is lost on the way, it may have committed.
    """
    told = False
    while not give_up():
        try:
            return action()
        except FAULTS as error:
            if not is_away(error):
                raise
            if not told:
                logger.warning("The database does not answer, waiting for it: %s", str(error).strip())
            told = True
            forget_connection()
            clock.sleep(PAUSE_SECONDS)
    return None
