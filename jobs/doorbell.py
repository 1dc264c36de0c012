"""Rings that say "look at the rows": to a run's group with its fence, and to the scheduler for a pass at once.

Owns when to ring: only after commit, and never as the truth. How is a dotted path in settings, resolved when it
rings, so that this app knows no broker. A ring that fails is logged and left to the next pass.
"""

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import connection, transaction
from django.utils.module_loading import import_string

logger = logging.getLogger(__name__)

_REQUEST_SQL = "SELECT nextval('pass_requests')"


@dataclass(frozen=True, slots=True)
class Ring:
    """One run to be rung for."""

    run_id: uuid.UUID
    fence: int
    group: str


def request_pass() -> None:
    """Ask for a pass once the present transaction has committed; never raises for a broker that is away.

    The request is counted in a database sequence, so that a lost message is answered by the next regular tick.
    """
    transaction.on_commit(_request_now, robust=True)


def ring_after_commit(rings: Sequence[Ring], rung: Callable[[Sequence[Ring]], None]) -> None:
    """Ring for each after commit, in order, then call `rung` with those that went out.

    Stops at the first that fails: with the broker away, each of a hundred rings would wait for its time-out.
    """
    if rings:
        transaction.on_commit(partial(_ring_now, tuple(rings), rung), robust=True)


def _ring_now(rings: Sequence[Ring], rung: Callable[[Sequence[Ring]], None]) -> None:
    done: list[Ring] = []
    for one in rings:
        if not _call(settings.SYNCOVA_DOORBELL, one.run_id, one.fence, one.group):
            break
        done.append(one)
    if done:
        rung(done)


def _request_now() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_REQUEST_SQL)
    _call(settings.SYNCOVA_WAKE)


def _call(dotted_path: str, *arguments: object) -> bool:
    if not dotted_path:
        return False
    try:
        # A bell that answers nothing has rung; only False says that it could not.
        return import_string(dotted_path)(*arguments) is not False
    except Exception:
        # The edge to the broker: whatever its client raises, the rows are committed and the next pass rings again.
        logger.exception("The doorbell %s failed; the next pass rings again", dotted_path)
        return False
