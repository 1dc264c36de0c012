"""Whose turn it is among the sources of one run: the hooks directly before and directly after each (6.4).

Owns the book of what was begun and not ended, so that what a hook has made ready is undone once and only once, also
where the engine dies in between. Which hooks there are and what their exit codes come to is workers.hooks'.
"""

import uuid
from functools import partial
from typing import Any, Final

from jobs import task_runs
from jobs.database_time import database_now
from jobs.executors import (
    ExecutionControl,
    ExecutionRequest,
    ExecutionResult,
    ExecutionSource,
    Failure,
    Progress,
    SourceResult,
)
from jobs.states import TaskState
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import ErrorInfo
from workers.hooks import Refusal, RunHooks, failed_by
from workers.recorder import record

# What the problem of a source is called whose hook failed after it; its backup is there.
_PROBLEM: Final = "hook_failed"


class SourceTurns:
    """The turns of one run's sources. Used by the thread that follows the engine."""

    def __init__(self, request: ExecutionRequest, control: ExecutionControl, hooks: RunHooks) -> None:
        self._request, self._control, self._hooks = request, control, hooks
        self._begun: dict[uuid.UUID, ExecutionSource] = {}
        self._failure: Failure | None = None

    @property
    def seconds(self) -> float | None:
        """For how long the engine waits for a turn at most; None: it need not ask, no hook cares for sources."""
        return self._hooks.seconds_of_turns()

    def answer(self, process: EngineProcess, turn_id: int, source: ExecutionSource, so_far: Progress) -> None:
        """Run what comes before a source, and tell the engine that waits for it what that comes to.

        A run that is cancelled by then tells nothing: the engine is asked to stop, and waits for that just as well.
        """
        if self._control.cancelled() is not None:
            return
        self._begun[source.task_run_id] = source
        refusal = self._hooks.before_source(source, so_far, gone=lambda: process.returncode is not None)
        if self._control.cancelled() is None:
            process.turn(turn_id, *_verdict(refusal))

    def started(self, source: ExecutionSource) -> None:
        """Note that a source is read; raises RuntimeError where its hooks were passed over: nothing is committed."""
        if self.seconds is not None and source.task_run_id not in self._begun:
            raise RuntimeError(f"the engine reads {source.name} without having asked for its turn")

    def ended(self, source: ExecutionSource, result: SourceResult, so_far: Progress) -> None:
        """Run what comes after a source whose end was told."""
        state = result.state
        if state == TaskState.SUCCEEDED and result.figures.skipped:
            state = TaskState.PARTIAL_FAILURE
        self._undo(source, state, result.failure, so_far)

    def close(self, result: ExecutionResult) -> ExecutionResult:
        """Run what comes after those sources whose end nobody told; return the run's result with its hooks' failure.

        The engine must be gone by now: it may hold open what a hook unmounts.
        """
        state = TaskState.FAILED if result.cancelled is None else TaskState.CANCELLED
        for source in tuple(self._begun.values()):
            self._undo(source, state, result.failure, None)
        return failed_by(result, self._failure)

    def _undo(
        self, source: ExecutionSource, state: TaskState, failure: Failure | None, so_far: Progress | None
    ) -> None:
        if self._begun.pop(source.task_run_id, None) is None:
            return
        refusal = self._hooks.after_source(source, state, failure, so_far)
        if refusal is None or refusal.skips:
            return
        self._failure = self._failure or refusal.failure
        problem = {"severity": "warning", "code": _PROBLEM, "path": ".", "message": refusal.failure.message}
        record(self._control, partial(self._note, source.task_run_id, problem))

    def _note(self, task_run_id: uuid.UUID, problem: dict[str, Any]) -> None:
        request = self._request
        task_runs.problem_found(request.run_id, request.fence, task_run_id, problem, now=database_now())


def _verdict(refusal: Refusal | None) -> tuple[Any, ...]:
    """Return what the engine is told: the verdict, and of a source that is left out the reason."""
    if refusal is None:
        return ("go",)
    told = refusal.failure
    error = ErrorInfo(code=told.code, message=told.message, hint=told.hint, failure_class=str(told.failure_class))
    return ("skip" if refusal.skips else "fail"), error
