"""The desk between a supervisor and its run's row, with the one thing that jobs.leases leaves to its caller:
records that commit only together with a proof of the lease.

Owns that transaction. Locks what the record locks first and the run last, as every writer of this order does.
"""

import logging
from collections.abc import Callable

from django.db import transaction

from jobs.leases import Lease
from syncova_project.database_faults import is_away

logger = logging.getLogger(__name__)


class LeaseDesk(Lease):
    """A lease that also records; `record` is atomic, and one that fails by itself leaves nothing behind (A9)."""

    def record(self, action: Callable[[], object]) -> bool:
        """Run `action` and prove the lease; False: the lease is lost and nothing was written.

        An error of `action` is logged with its writes undone; only the database's absence is raised.
        """
        with transaction.atomic():
            _attempt(action)
            held = self.confirm()
            if not held:
                transaction.set_rollback(True)
        return held


def _attempt(action: Callable[[], object]) -> None:
    try:
        with transaction.atomic():
            action()
    except Exception as error:
        if is_away(error):
            raise
        # A process edge: what a run records beside its verdict must never fail the run.
        logger.exception("A record of the run could not be written")
