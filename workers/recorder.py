"""Records that an executor makes beside its result, where whoever controls it takes them.

Owns the asking alone: order, lease and failures are the control's.
"""

from collections.abc import Callable
from typing import Protocol, cast, runtime_checkable

from jobs.executors import ExecutionControl


@runtime_checkable
class Recorder(Protocol):
    """A control that also writes for its executor, in order and only while the run's lease holds."""

    def record(self, action: Callable[[], object]) -> None:
        """Queue one write; its failure is logged and never fails the run (A9)."""


def record(control: ExecutionControl, action: Callable[[], object]) -> None:
    """Hand a write to the control; the loop's own executors are controlled without records."""
    if isinstance(control, Recorder):
        cast(Recorder, control).record(action)
