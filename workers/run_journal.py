"""The lines that an executor writes into a run's log: its beginning, each source's, their ends with figures, its end.

Owns the words; pure. Paths come shown, so that no line moves a terminal.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jobs.executors import ExecutionRequest, ExecutionResult, ExecutionSource, Figures, SourceResult
from jobs.states import TaskState
from repositories.engine.display import show_bytes, show_count
from workers.outcome import clean

Line = tuple[str, str]

_LEVELS: Final[Mapping[str, str]] = {"skipped": "warning", "warning": "warning", "note": "info"}


def begins(request: ExecutionRequest, repository: str) -> Line:
    """Say what the run is about to do."""
    of = f" of {show_count(len(request.sources), 'source')}" if request.sources else ""
    told = f"attempt {request.attempt}, started by {request.trigger}, fence {request.fence}"
    confirmed = " What the sources hold now is confirmed." if request.accept_new_root else ""
    return "info", clean(f"The {request.kind}{of} begins on the repository {repository}: {told}.{confirmed}")


def source_begins(source: ExecutionSource) -> Line:
    """Say that a source is read from now on."""
    return "info", clean(f"Source {source.name} begins.")


def source_ends(source: ExecutionSource, result: SourceResult) -> Iterator[Line]:
    """Say how a source ended, with its figures, and name the problems that its result keeps."""
    for problem in result.problems:
        yield _LEVELS.get(str(problem.get("severity")), "warning"), clean(f"{source.name}: {_problem(problem)}")
    if result.state == TaskState.SKIPPED and result.failure is not None:
        yield "warning", clean(f"Source {source.name} was left out: {result.failure.message}")
    elif result.failure is not None:
        yield "error", clean(f"Source {source.name} failed: {result.failure.code}: {result.failure.message}")
    elif result.state == TaskState.SUCCEEDED:
        level = "warning" if result.figures.skipped else "info"
        yield level, clean(f"Source {source.name} ends: {_figures(result.figures)}; backup {result.backup_id}.")
    else:
        yield "warning", clean(f"Source {source.name} was {result.state}.")


def ends(result: ExecutionResult) -> Line:
    """Say how the run ended for its executor."""
    if result.failure is not None:
        return "error", clean(f"The run ends with {result.failure.code}: {result.failure.message}")
    if result.cancelled is not None:
        return "warning", f"The run ends: it was cancelled ({result.cancelled})."
    good = sum(source.state == TaskState.SUCCEEDED for source in result.sources)
    if not result.sources:
        return "info", "The run ends: all that was asked is done."
    level = "info" if good == len(result.sources) else "error"
    return level, f"The run ends: {good} of {show_count(len(result.sources), 'source')} backed up."


def _figures(told: Figures) -> str:
    held = f"{show_count(told.files, 'file')}, {show_bytes(told.logical_bytes)}"
    moved = f"{show_bytes(told.bytes_read)} read, {show_bytes(told.bytes_stored)} stored"
    odd = f"{told.skipped} skipped, {show_count(told.warnings, 'warning')}, {show_count(told.notes, 'note')}"
    return f"{held}; {moved}; {odd}"


def _problem(problem: Mapping[str, Any]) -> str:
    message = problem.get("message") or str(problem.get("code", "")).replace("_", " ")
    return f"{problem.get('severity')}: {problem.get('path')}: {message}"
