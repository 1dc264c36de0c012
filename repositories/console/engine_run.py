"""One operation in an engine child, as a command sees it: events shown, questions answered, interrupts obeyed.

Owns the child for the length of the command. A stuck mount or a long computation cannot hold up Ctrl-C.
"""

import signal
from typing import Any

from msgspec import Struct, field

from repositories.console.failures import Failure, Interrupted, ReportedFailureError
from repositories.console.head_start import start_child
from repositories.console.passwords import warn_if_public
from repositories.console.progress_view import ProgressView
from repositories.console.terminal import Terminal
from repositories.engine.display import show_count
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import (
    ConfirmWanted,
    ErrorInfo,
    Event,
    Failed,
    Finished,
    Log,
    Opened,
    Progress,
    SourceFinished,
)
from repositories.engine.process.requests import Request

LOOK_SECONDS = 0.5
# A cancel takes at most five seconds in every phase; then the child is killed.
GRACE_SECONDS = 6.0
_AGAIN = "run it again to go on; what is there already is not written again"

# The phases of a prune (repositories/engine/prune/run.py) in which it has deleted nothing yet.
_BEFORE_DELETING = frozenset({"looking", "planning", "repacking", "waiting"})


class Outcome(Struct):
    """What an operation told: `result` is the last event's, `sources` in the order in which they ended.

    `files` and `phase` are the newest progress: as many at least are through.
    """

    result: dict[str, Any] = field(default_factory=dict)
    repository_id: str = ""
    sources: list[SourceFinished] = field(default_factory=list)
    files: int = 0
    phase: str = ""


def run_engine(request: Request, view: ProgressView, terminal: Terminal, outcome: Outcome | None = None) -> Outcome:
    """Run `request` in a child to its end; `outcome` is filled on the way and returned.

    Raises ReportedFailureError with the child's own words when it failed, Interrupted after the child is gone.
    """
    outcome = outcome or Outcome()
    with EngineProcess(request, child=start_child(request.operation)) as process:
        try:
            for event in process.events(LOOK_SECONDS):
                if event is not None:
                    if isinstance(event, Log):
                        # Its line must not be written into the middle of a bar, which the next progress draws anew.
                        view.close()
                    _keep(event, outcome)
                    _take(event, process, request, terminal)
                    if isinstance(event, Failed):
                        raise ReportedFailureError(_with_what_is_done(reported(event.error), request, outcome))
                    view.show(event)
        except Interrupted as interrupted:
            _stop(process)
            _tell_what_is_done(interrupted, request, outcome)
            raise
        finally:
            view.close()
            if process.stderr_tail:
                terminal.detail(process.stderr_tail)
    return outcome


def _keep(event: Event, outcome: Outcome) -> None:
    match event:
        case Opened():
            outcome.repository_id = event.repository_id
        case SourceFinished():
            outcome.sources.append(event)
        case Progress():
            outcome.files, outcome.phase = event.files, event.phase
        case Finished():
            outcome.result = event.result


def _take(event: Event, process: EngineProcess, request: Request, terminal: Terminal) -> None:
    match event:
        case Opened():
            warn_if_public(request.repository.password, terminal)
        case ConfirmWanted():
            # No control plane stands behind a command, so no one can have taken its lease.
            process.confirm(event.id, ok=True)
        case Log(level="warning" | "error"):
            terminal.engine_warning(event.message)
        case Log():
            terminal.note(event.message)


def reported(error: ErrorInfo) -> Failure:
    """Return the child's error as a failure of the command."""
    if error.code == "ENGINE_LOST":
        return Failure(error.code, error.message, "run it again; -v shows what it said last", error.exit_code)
    return Failure(error.code, error.message, error.hint, error.exit_code)


def _with_what_is_done(failure: Failure, request: Request, outcome: Outcome) -> Failure:
    """Return the failure; where the child told nothing any more, a restore says what the target holds."""
    if failure.code != "ENGINE_LOST" or request.operation != "restore" or _is_dry(request):
        return failure
    message = f"{failure.message}: {_restored(outcome)}, and what it was writing may be half"
    return Failure(failure.code, message, f"{_AGAIN}; -v shows what it said last", failure.exit_code)


def _is_dry(request: Request) -> bool:
    return request.restore is not None and request.restore.dry_run


def _restored(outcome: Outcome) -> str:
    return f"the target holds at least {show_count(outcome.files, 'file')} of the backup"


def _stop(process: EngineProcess) -> None:
    # A second Ctrl-C means now.
    before = signal.signal(signal.SIGINT, lambda *_: process.kill())
    try:
        process.terminate(GRACE_SECONDS)
    finally:
        signal.signal(signal.SIGINT, before)


def _tell_what_is_done(interrupted: Interrupted, request: Request, outcome: Outcome) -> None:
    if _is_dry(request):
        interrupted.done = "nothing was changed"
    elif request.operation == "restore":
        interrupted.done = _restored(outcome)
        interrupted.hint = _AGAIN
    elif request.operation == "prune":
        gone = "no pack was deleted" if outcome.phase in _BEFORE_DELETING else "packs that no backup uses may be gone"
        interrupted.done = f"all backups are as they were; {gone}"
        interrupted.hint = "run it again: it goes on from what is done"
    elif request.operation == "copy":
        interrupted.done = "backups that were copied are whole, and nothing half is visible"
        interrupted.hint = "run it again to go on"
    elif request.operation == "backup":
        done = sum(finished.status == "succeeded" for finished in outcome.sources)
        through = "looked at, nothing was written" if request.dry_run else "backed up, and nothing half"
        interrupted.done = f"{done:,} of {show_count(len(request.sources), 'source')} {through}"
        if not request.dry_run:
            interrupted.hint = _how_to_go_on({source.type for source in request.sources})


def _how_to_go_on(types: set[str]) -> str:
    """Return what running a backup again does: only trees have checkpoints."""
    if types == {"filesystem"}:
        return "run the command again: it goes on from what was read"
    if types == {"stdin"}:
        anew = "what it backs up is printed and read anew"
    elif types == {"device"}:
        anew = "a device is read from its beginning"
    else:
        anew = "trees go on from what was read, devices are read from their beginning"
    return f"run the command again: {anew}; what was stored is not stored twice"
