"""Turns the engine's figures and errors into the executor's values; pure.

Owns the translation and the cleaning of texts that came from outside: file names may hold any byte, and PostgreSQL
stores no NUL.
"""

import datetime as dt
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from jobs.executors import ExecutionSource, Failure, Figures, SourceResult
from jobs.states import BackupMode, FailureClass, TaskState
from repositories.engine.errors import RepositoryNotFoundError, SourceEmptyError, SourceUnmountedError
from repositories.engine.process.protocol import ErrorInfo, ProblemInfo, SourceFigures, SourceFinished
from syncova_project.instants import moment_at

MAX_TEXT: Final = 2000
_HINTS: Final[Mapping[str, str]] = {"ENGINE_LOST": "The run's log has its last words, if it had any."}
_ACCEPTABLE: Final = frozenset({SourceEmptyError.code, SourceUnmountedError.code})
_FIGURES: Final = tuple(Figures.__dataclass_fields__)


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """Return `text` as PostgreSQL can store it, bounded."""
    stored = text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")
    return stored if len(stored) <= limit else stored[: limit - 1] + "…"


def failure_of(error: ErrorInfo) -> Failure:
    """Return an engine's error as a run's; an unheard-of class is `unknown`."""
    known = error.failure_class in FailureClass.values
    failure_class = FailureClass(error.failure_class) if known else FailureClass.UNKNOWN
    hint = error.hint or _HINTS.get(error.code, "")
    return Failure(clean(error.code, 100), clean(error.message), failure_class, hint=clean(hint))


def unopened(error: ErrorInfo, expected_id: str | None) -> Failure:
    """Return the failure of a run whose engine failed; a repository that was there before is missed, not misnamed."""
    failure = failure_of(error)
    if failure.code != RepositoryNotFoundError.code or expected_id is None:
        return failure
    # No word of making one: below a file system that is not mounted lies an empty directory.
    return replace(failure, failure_class=FailureClass.REPOSITORY, hint="It was opened before: is its medium mounted?")


def succeeded(source: ExecutionSource, figures: SourceFigures) -> SourceResult:
    """Return the result of a source whose backup is committed."""
    return SourceResult(
        task_run_id=source.task_run_id,
        state=TaskState.SUCCEEDED,
        started_at=_instant(figures.started_ns),
        finished_at=_instant(max(figures.finished_ns, figures.started_ns)),
        backup_id=figures.backup_id,
        manifest_id=figures.manifest_id,
        parent_backup_id=figures.parent_id or "",
        chain=figures.chain,
        mode=BackupMode(figures.mode),
        figures=Figures(**{name: getattr(figures, name) for name in _FIGURES}),
        skip_reasons=Counter(clean(p.code, 100) for p in figures.problems if p.severity == "skipped"),
        problems=tuple(_problem(problem) for problem in figures.problems),
    )


def failed(source: ExecutionSource, failure: Failure) -> SourceResult:
    """Return the result of a source that could not be backed up."""
    return SourceResult(task_run_id=source.task_run_id, state=TaskState.FAILED, failure=failure)


def skipped(source: ExecutionSource, failure: Failure) -> SourceResult:
    """Return the result of a source of which a hook said that there is nothing to do now."""
    return SourceResult(task_run_id=source.task_run_id, state=TaskState.SKIPPED, failure=failure)


def cancelled(source: ExecutionSource) -> SourceResult:
    """Return the result of a source that the run's cancel reached first."""
    return SourceResult(task_run_id=source.task_run_id, state=TaskState.CANCELLED)


def source_result(source: ExecutionSource, event: SourceFinished, job: str) -> SourceResult:
    """Return what an event says about its source of a job; a success without figures is a failure."""
    if event.status == "succeeded" and event.result is not None:
        return succeeded(source, event.result)
    error = event.error or ErrorInfo(code="ENGINE_PROTOCOL", message="the engine told neither a result nor an error")
    if event.status == "skipped":
        return skipped(source, failure_of(error))
    if error.code in _ACCEPTABLE:
        error = msgspec.structs.replace(error, hint=_how_to_accept(job))
    return failed(source, failure_of(error))


def _how_to_accept(job: str) -> str:
    # One backup of the new state is what the next one is compared with, and then finds nothing missing.
    return (
        "Mount its file system, or let its exclude rules leave something, and run it again. If it is meant to be like "
        f"this now, confirm it once: ./syncova ctl job run {shlex.quote(job)} --accept-new-root"
    )


def _problem(problem: ProblemInfo) -> Mapping[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(problem)
    return {name: clean(value) for name, value in values.items() if isinstance(value, str)}


def _instant(nanoseconds: int) -> dt.datetime | None:
    return moment_at(nanoseconds) if nanoseconds > 0 else None
