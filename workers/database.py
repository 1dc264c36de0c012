"""Database work that outlasts an outage: tried again with a fresh connection until it is done or pointless.

Owns the waiting. Whether there is something to wait for is syncova_project.database_faults'. Knows no run.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import Error, connection

from syncova_project import clock
from syncova_project.database_faults import is_away, reason_of

T = TypeVar("T")

PAUSE_SECONDS = 1.0

logger = logging.getLogger(__name__)


def forget_connection() -> None:
    """Drop this thread's connection, so that the next query opens a fresh one; never raises for a dead one."""
    try:
        connection.close()
    except Error:
        connection.connection = None


def attempt(action: Callable[[], T]) -> T | None:
    """Run `action` once; None, with the connection dropped, when the database is away."""
    try:
        return action()
    except Error as error:
        if not is_away(error):
            raise
        logger.warning("The database does not answer: %s", reason_of(error))
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
        except Error as error:
            if not is_away(error):
                raise
            if not told:
                logger.warning("The database does not answer, waiting for it: %s", reason_of(error))
            told = True
            forget_connection()
            clock.sleep(PAUSE_SECONDS)
    return None
