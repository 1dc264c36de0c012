"""Database work that outlasts an outage: tried again with a fresh connection until it is done or pointless.

Owns the difference between "the database is away" (wait) and "the statement is wrong" (raise). Knows no run.
"""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection

T = TypeVar("T")

# InternalError: a server that was demoted answers "read-only transaction", and comes back or fails over.
AWAY = (OperationalError, InterfaceError, InternalError)
PAUSE_SECONDS = 1.0

logger = logging.getLogger(__name__)


def forget_connection() -> None:
    """Drop this thread's connection, so that the next query opens a fresh one; never raises for a dead one."""
    try:
        connection.close()
    except AWAY:
        connection.connection = None


def attempt(action: Callable[[], T]) -> T | None:
    """Run `action` once; None, with the connection dropped, when the database is away."""
    try:
        return action()
    except AWAY as error:
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
        except AWAY as error:
            if not told:
                logger.warning("The database does not answer, waiting for it: %s", str(error).strip())
            told = True
            forget_connection()
            time.sleep(PAUSE_SECONDS)
    return None
