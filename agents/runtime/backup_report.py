"""What `syncova-agent backup` tells at its end: per source its backup or its error, and the exit code.

Owns the verdict of a run by hand: skipped objects and failed sources end with 3, nothing backed up with the error.
"""

import os
from typing import Any

import msgspec

from repositories.console import exits
from repositories.console.engine_run import Outcome
from repositories.console.failures import Failure
from repositories.console.note_lines import note_lines
from repositories.console.terminal import Terminal
from repositories.engine.display import path_fields, show_bytes, show_count, show_duration, show_text
from repositories.engine.errors import SourceEmptyError
from repositories.engine.ids import short_id
from repositories.engine.process.protocol import (
    ErrorInfo,
    ForecastFigures,
    ProblemInfo,
    SourceFigures,
    SourceFinished,
)
from repositories.engine.process.requests import Request, SourceRequest

SUCCEEDED, PARTIAL, FAILED = "succeeded", "partial_failure", "failed"
ALL_FAILED = "ALL_SOURCES_FAILED"


def report_backup(terminal: Terminal, request: Request, outcome: Outcome, seconds: float) -> int:
    """Print what became of each source; return the exit code."""
    state = _state(outcome)
    failure = _failure(request, outcome) if state == FAILED else None
    document = _document(terminal, request, outcome, state, told=failure)
    end = "dry run: nothing was written," if request.dry_run else state.replace("_", " ")
    terminal.note(f"{end} after {show_duration(seconds)}")
    if failure is not None:
        terminal.failure(failure, **document)
        return failure.exit_code
    terminal.document(document)
    return exits.DONE if state == SUCCEEDED else exits.SKIPPED


def report_broken_off(terminal: Terminal, request: Request, outcome: Outcome, failure: Failure) -> int:
    """Print which sources were backed up before the run failed, and why it did; return the exit code."""
    terminal.failure(failure, **_document(terminal, request, outcome, FAILED))
    return failure.exit_code


def _document(
    terminal: Terminal, request: Request, outcome: Outcome, state: str, *, told: Failure | None = None
) -> dict[str, Any]:
    """Print each source and return all of them; the error that the run itself ends with is not printed twice."""
    by_key = {source.key: source for source in request.sources}
    for finished in outcome.sources:
        if finished.error is not None and told is not None and finished.error.message == told.message:
            continue
        _print_source(terminal, by_key[finished.source], finished)
    return {
        "run_id": request.run.id if request.run else None,
        "repository_id": outcome.repository_id,
        "state": state,
        "dry_run": request.dry_run,
        "sources": [_source_fields(by_key[finished.source], finished) for finished in outcome.sources],
    }


def _source_fields(source: SourceRequest, finished: SourceFinished) -> dict[str, Any]:
    return {
        "source": show_text(source.name),
        **path_fields(source.path),
        "state": _source_state(finished),
        "backup": None if finished.result is None else _figures(finished.result),
        "forecast": None if finished.forecast is None else _forecast(finished.forecast),
        "error": None if finished.error is None else _error(source, finished.error),
    }


def _source_state(finished: SourceFinished) -> str:
    """Return the state of one source in the words of the run's."""
    figures = finished.result or finished.forecast
    if figures is None:
        return FAILED
    return PARTIAL if figures.skipped else SUCCEEDED


def _state(outcome: Outcome) -> str:
    states = {_source_state(finished) for finished in outcome.sources}
    if states <= {FAILED}:
        return FAILED
    return SUCCEEDED if states == {SUCCEEDED} else PARTIAL


def _failure(request: Request, outcome: Outcome) -> Failure:
    errors = [finished.error for finished in outcome.sources if finished.error is not None]
    if len(errors) == 1:
        hint = _hint(request.sources[0], errors[0])
        return Failure(errors[0].code, errors[0].message, hint, errors[0].exit_code)
    return Failure(ALL_FAILED, f"none of {len(errors)} sources could be backed up", "the reason of each is above")


def _print_source(terminal: Terminal, source: SourceRequest, finished: SourceFinished) -> None:
    name = source.name
    if finished.error is not None:
        terminal.warning(f"{show_text(name)} was not backed up: {show_text(finished.error.message)}")
        terminal.note(f"  {show_text(_hint(source, finished.error))}")
        return
    if finished.forecast is not None:
        # Imported for dry runs alone.
        from agents.runtime.dry_run_report import print_forecast

        print_forecast(terminal, name, finished.forecast)
        _print_problems(terminal, finished.forecast)
    figures = finished.result
    if figures is None:
        return
    terminal.line(f"{short_id(figures.backup_id)}  {show_text(name)}  {figures.mode}")
    terminal.line(
        f"  {show_count(figures.files, 'file')}, {show_bytes(figures.logical_bytes)}; "
        f"{show_bytes(figures.bytes_read)} read, {show_bytes(figures.bytes_stored)} stored, "
        f"in {show_duration(_seconds(figures))}"
    )
    _print_problems(terminal, figures)


def _print_problems(terminal: Terminal, figures: SourceFigures | ForecastFigures) -> None:
    if figures.skipped or figures.warnings:
        terminal.line(f"  {figures.skipped:,} skipped, {show_count(figures.warnings, 'warning')}")
    for problem in figures.problems:
        if problem.severity != "note":
            terminal.line(f"  {problem.severity}: {problem.path}: {show_text(problem.message or problem.code)}")
    told = sum(problem.severity != "note" for problem in figures.problems)
    if told < figures.skipped + figures.warnings:
        where = ": syncova-repo show --all-problems" if isinstance(figures, SourceFigures) else ""
        terminal.line(f"  and {figures.skipped + figures.warnings - told:,} more{where}")
    for line in note_lines(figures.note_counts):
        terminal.line(f"  note: {line}")


def _seconds(figures: SourceFigures) -> float:
    return (figures.finished_ns - figures.started_ns) / 1e9


def _figures(figures: SourceFigures) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(figures)
    del fields["backup_id"], fields["parent_id"]
    return {
        "id": figures.backup_id,
        "short_id": short_id(figures.backup_id),
        **fields,
        # Parent and chain were read from the repository, where a hostile writer may have named them.
        "chain": show_text(figures.chain),
        "parent": None if figures.parent_id is None else show_text(figures.parent_id),
        "problems": [_problem(problem) for problem in figures.problems],
    }


def _forecast(forecast: ForecastFigures) -> dict[str, Any]:
    from agents.runtime.dry_run_report import forecast_fields

    return {**forecast_fields(forecast), "problems": [_problem(problem) for problem in forecast.problems]}


def _problem(problem: ProblemInfo) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(problem)
    if problem.path_base64 is None:
        del fields["path_base64"]
    return fields


def _error(source: SourceRequest, error: ErrorInfo) -> dict[str, str]:
    return {"code": error.code, "message": error.message, "hint": _hint(source, error)}


def _hint(source: SourceRequest, error: ErrorInfo) -> str:
    """Return the next step; where the engine knows only what can be allowed, the option that allows it."""
    if error.code != SourceEmptyError.code or source.type != "filesystem":
        return error.hint
    if source.excludes and _holds_something(source.path):
        return "the exclude rules leave nothing of it: correct them, or give --accept-new-root if that is meant"
    return "is its file system mounted? give --accept-new-root if it is meant to be empty"


def _holds_something(path: bytes) -> bool:
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except OSError:
        return False
