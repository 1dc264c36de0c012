"""The lease of one running run: what its supervisor may read and write, each write guarded by id, fence and state.

Owns the desk between a supervisor and its run's row. False means that the lease is lost: stop, write nothing more.
No answer of the database raises Django's errors: the supervisor waits and asks again (execution.md, section 1).
"""

import uuid
from dataclasses import dataclass

from jobs import transitions
from jobs.database_time import database_now
from jobs.executors import Progress
from jobs.models import Run
from jobs.states import CancelOrigin, RunState


class LeaseLostError(Exception):
    """The run's fence no longer holds: commit nothing, write nothing more."""


@dataclass(frozen=True, slots=True)
class Lease:
    """One run under one fence. Thread safe as far as Django's connections are: one per thread."""

    run_id: uuid.UUID
    fence: int

    def cancel_origin(self) -> CancelOrigin | None:
        """Return who asked for the run's end, None if nobody; raises LeaseLostError when the run is not ours."""
        mine = Run.objects.filter(id=self.run_id, fence=self.fence, state=RunState.RUNNING)
        row = mine.values_list("cancel_requested_at", "cancel_origin").first()
        if row is None:
            raise LeaseLostError(f"run {self.run_id} is no longer running under fence {self.fence}")
        requested_at, origin = row
        return CancelOrigin(origin) if requested_at is not None else None

    def heartbeat(self, progress: Progress | None = None) -> bool:
        """Give a sign of life, with progress where there is some."""
        return transitions.heartbeat(self.run_id, self.fence, progress, now=database_now())

    def confirm(self) -> bool:
        """Prove by one guarded UPDATE that the fence holds now."""
        return transitions.confirm(self.run_id, self.fence, now=database_now())

    def stalled(self, seconds: int) -> bool:
        """Write that there has been no progress for `seconds`."""
        return transitions.stalled(self.run_id, self.fence, seconds, now=database_now())
