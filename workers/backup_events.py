"""Answers one backup engine's events: records what it committed, confirms the lease, tells progress and logs.

Owns what each event of a backup means to the control plane. Runs in the thread that follows the engine; every write
goes through the control, in order and under the run's lease.
"""

import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from jobs import task_runs
from jobs.database_time import database_now
from jobs.executors import ExecutionControl, ExecutionRequest, Failure, Progress, SourceResult
from jobs.leases import LeaseLostError
from jobs.states import FailureClass, TaskState
from repositories.engine.high_water import HighWater
from repositories.engine.process import protocol
from repositories.engine.process.client import EngineProcess
from repositories.opening import RepositoryAccess
from repositories.services import BackupReference, backup_record
from repositories.troubles import repository_unopened
from workers import outcome, run_journal
from workers.hook_turns import SourceTurns
from workers.openings import Look, Opening, record_look, record_opening, stored_mark
from workers.recorder import record

# They tell of the engine's process, not of what it tried to open.
_OF_PROCESSES: Final = frozenset({FailureClass.TRANSIENT, FailureClass.UNKNOWN})

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EngineTalk:
    """The engine that tells the events and gets the answers, and the hooks that run between its sources."""

    process: EngineProcess
    turns: SourceTurns


class BackupEvents:
    """The state of one backup run as its engine tells it."""

    def __init__(
        self,
        request: ExecutionRequest,
        control: ExecutionControl,
        engine: EngineTalk,
        access: RepositoryAccess,
        confirmed_before: int,
    ) -> None:
        self._request = request
        self._control = control
        self._engine = engine
        self._access = access
        self._confirmed_before = confirmed_before
        self._sources = {str(source.task_run_id): source for source in request.sources}
        self._open = False
        # The id of the repository that is there in place of the adopted one, "" when it is that one.
        self.elsewhere = ""
        self._results: dict[str, SourceResult] = {}
        self._progress: dict[str, protocol.Progress] = {}
        self._so_far = Progress("")
        self._answers: dict[type[protocol.Event], Callable[[Any], None]] = {
            protocol.Opened: self._opened,
            protocol.TurnWanted: self._turn_wanted,
            protocol.SourceStarted: self._source_started,
            protocol.Progress: self._progressed,
            protocol.ConfirmWanted: self._confirm,
            protocol.SourceFinished: self._source_finished,
            protocol.Log: self._log,
            protocol.Finished: self._finished,
        }

    def handle(self, event: protocol.Event) -> None:
        """Answer one event; what Finished and Failed say of the run is the follower's."""
        answer = self._answers.get(type(event))
        if answer is not None:
            answer(event)

    def unopened(self, failure: Failure) -> None:
        """Record why the engine failed, if it had not opened the repository by then."""
        if not self._open and failure.failure_class not in _OF_PROCESSES:
            told = {"code": failure.code, "message": failure.message}
            self._record(lambda: repository_unopened(repository_id=self._access.id, now=database_now(), **told))

    def results(self) -> tuple[SourceResult, ...]:
        """Return what became of each source so far, in the order of the run."""
        return tuple(self._results[key] for key in self._sources if key in self._results)

    def _opened(self, event: protocol.Opened) -> None:
        self._open = True
        expected = self._access.expected_id
        if expected is not None and expected != event.repository_id:
            self.elsewhere = event.repository_id
            self._control.log(
                "error",
                f"The repository was swapped: it is {event.repository_id}, not {expected}. The run goes on, and does "
                "not count as a backup in the registered one.",
            )
        opening = Opening(
            observed_hex=event.repository_id,
            stored=stored_mark(event.controllers, self._access.id),
            confirmed_before=self._confirmed_before,
            fence=self._request.fence,
            look=self._look(event.seen, event.earlier_state),
        )
        self._record(partial(record_opening, opening))

    def _turn_wanted(self, event: protocol.TurnWanted) -> None:
        source = self._sources[event.source]
        self._engine.turns.answer(self._engine.process, event.id, source, self._so_far)

    def _source_started(self, event: protocol.SourceStarted) -> None:
        source = self._sources[event.source]
        self._engine.turns.started(source)
        self._control.log(*run_journal.source_begins(source))
        self._record(
            lambda: task_runs.source_started(
                self._request.run_id, self._request.fence, source.task_run_id, now=database_now()
            )
        )

    def _progressed(self, event: protocol.Progress) -> None:
        self._progress[event.source or ""] = event
        seen = self._progress.values()
        self._so_far = Progress(
            phase=outcome.clean(event.phase, 100),
            files=sum(each.files for each in seen),
            bytes_read=sum(each.bytes_read for each in seen),
            bytes_stored=sum(each.bytes_stored for each in seen),
            current=outcome.clean(event.current),
        )
        self._control.heartbeat(self._so_far)

    def _confirm(self, event: protocol.ConfirmWanted) -> None:
        try:
            self._control.confirm()
        except LeaseLostError:
            self._engine.process.confirm(event.id, ok=False)
        else:
            self._engine.process.confirm(event.id, ok=True)

    def _source_finished(self, event: protocol.SourceFinished) -> None:
        source = self._sources[event.source]
        result = outcome.source_result(source, event, self._request.job_name)
        self._results[event.source] = result
        for line in run_journal.source_ends(source, result):
            self._control.log(*line)
        self._record(
            lambda: task_runs.source_finished(self._request.run_id, self._request.fence, result, now=database_now())
        )
        if result.state == TaskState.SUCCEEDED and not self.elsewhere:
            reference = self._reference(event.source, result)
            self._record(lambda: backup_record(reference=reference, now=database_now()))
        self._engine.turns.ended(source, result, self._so_far)

    def _log(self, event: protocol.Log) -> None:
        self._control.log(event.level, outcome.clean(event.message))

    def _finished(self, event: protocol.Finished) -> None:
        if not self.elsewhere:
            self._record(partial(record_look, self._look(event.seen)))

    def _look(self, seen: HighWater | None, earlier_state: str = "") -> Look:
        return Look(self._access.id, self._request.run_id, self._access.remembered, seen, earlier_state)

    def _record(self, action: Callable[[], object]) -> None:
        record(self._control, action)

    def _reference(self, key: str, result: SourceResult) -> BackupReference:
        source, figures = self._sources[key], result.figures
        return BackupReference(
            backup_id=result.backup_id,
            repository_id=self._access.id,
            run_id=self._request.run_id,
            manifest_id=result.manifest_id,
            chain=result.chain,
            mode=str(result.mode or ""),
            logical_bytes=figures.logical_bytes,
            bytes_read=figures.bytes_read,
            bytes_stored=figures.bytes_stored,
            files=figures.files,
            skipped=figures.skipped,
            warnings=figures.warnings,
            parent=result.parent_backup_id or None,
            task_run_id=source.task_run_id,
            source_id=source.source_id,
            source_name=outcome.clean(source.name),
            job_id=self._request.job_id,
            host=outcome.clean(socket.gethostname()),
            source_type=source.type,
            trigger=str(self._request.trigger),
            scheduled_for=self._request.scheduled_for,
        )
