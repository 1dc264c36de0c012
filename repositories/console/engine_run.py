"""One operation in an engine child, as a command sees it: events shown, questions answered, interrupts obeyed.

Owns the child for the length of the command. A stuck mount or a long computation cannot hold up Ctrl-C.
"""

import signal
from dataclasses import dataclass, field
from typing import Any

from repositories.console.failures import Failure, Interrupted, ReportedFailureError
from repositories.console.head_start import start_child
from repositories.console.progress_view import ProgressView
from repositories.console.terminal import Terminal
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import (
    ConfirmWanted,
    ErrorInfo,
    Event,
    Failed,
    Finished,
    Log,
    Opened,
    Request,
    SourceFinished,
)

LOOK_SECONDS = 0.5
# A cancel takes at most five seconds in every phase; then the child is killed.
GRACE_SECONDS = 6.0


@dataclass(slots=True)
class Outcome:
    """What an operation told: `result` is the last event's, `sources` in the order in which they ended."""

    result: dict[str, Any] = field(default_factory=dict)
    repository_id: str = ""
    sources: list[SourceFinished] = field(default_factory=list)


def run_engine(request: Request, view: ProgressView, terminal: Terminal, outcome: Outcome | None = None) -> Outcome:
    """Run `request` in a child to its end; `outcome` is filled on the way and returned.

    Raises ReportedFailureError with the child's own words when it failed, Interrupted after the child is gone.
    """
    outcome = outcome or Outcome()
    with EngineProcess(request, child=start_child()) as process:
        try:
            for event in process.events(LOOK_SECONDS):
                if event is not None:
                    if isinstance(event, Log):
                        # Its line must not be written into the middle of a bar, which the next progress draws anew.
                        view.close()
                    _take(event, process, outcome, terminal)
                    view.show(event)
        except Interrupted:
            _stop(process)
            raise
        finally:
            view.close()
            if process.stderr_tail:
                terminal.detail(process.stderr_tail)
    return outcome


def _take(event: Event, process: EngineProcess, outcome: Outcome, terminal: Terminal) -> None:
    match event:
        case Opened():
            outcome.repository_id = event.repository_id
        case ConfirmWanted():
            # No control plane stands behind a command, so no one can have taken its lease.
            process.confirm(event.id, ok=True)
        case SourceFinished():
            outcome.sources.append(event)
        case Log(level="warning" | "error"):
            terminal.warning(event.message)
        case Log():
            terminal.detail(event.message)
        case Finished():
            outcome.result = event.result
        case Failed():
            raise ReportedFailureError(reported(event.error))


def reported(error: ErrorInfo) -> Failure:
    """Return the child's error as a failure of the command."""
    return Failure(error.code, error.message, error.hint, error.exit_code)


def _stop(process: EngineProcess) -> None:
    # A second Ctrl-C means now.
    before = signal.signal(signal.SIGINT, lambda *_: process.kill())
    try:
        process.terminate(GRACE_SECONDS)
    finally:
        signal.signal(signal.SIGINT, before)
