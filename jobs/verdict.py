"""The verdict over a run (A6, A11): cancel > executor's error > swapped repository > skipped objects > success. Pure.

A source that a hook left out counts as a skipped object; where hooks left out all of them there was nothing to do, and
the run is cancelled by them: a success would claim a backup, and a failure would alarm every night.

Owns the order and the failure class of "all sources failed". Must not write: jobs.conclusion does.
"""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from jobs.executors import NO_FIGURES, ExecutionResult, Failure, Figures, SourceResult
from jobs.retries import is_retryable
from jobs.states import EXPLAINED_TASK_STATES, CancelOrigin, FailureClass, RunState, TaskState
from jobs.warned_hooks import warned_by

GRAVE: Final = (FailureClass.SECURITY, FailureClass.INTEGRITY)
_INCOMPLETE = Failure(
    "SOURCE_NOT_REPORTED", "The executor returned no backup for this source.", FailureClass.UNKNOWN, hint=""
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a run ended and why; `reason_code` and parameters are stored, the sentence is made when read."""

    state: RunState
    reason_code: str
    reason_parameters: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None
    cancel_origin: CancelOrigin | None = None
    figures: Figures = NO_FIGURES

    def told(self) -> dict[str, Any]:
        """Return what the event of the end says: the reason and its figures; lists stand on the run alone."""
        figures = {name: value for name, value in self.reason_parameters.items() if not isinstance(value, list)}
        return {"reason": self.reason_code, **figures}


def decide(result: ExecutionResult, expected: Sequence[uuid.UUID], cancel: CancelOrigin | None = None) -> Verdict:
    """Return the verdict over `result`; `expected` are the run's task runs, `cancel` who asked for its end.

    A cancel that was asked for and answered outweighs a success that came a moment later: who cancels is told so.
    Hooks that warned change no state; they are counted and named.
    """
    verdict = _decide(result, expected, cancel)
    figures = replace(verdict.figures, warnings=verdict.figures.warnings + len(result.hooks_warned))
    told = {**verdict.reason_parameters, **warned_by(result.hooks_warned)}
    return replace(verdict, figures=figures, reason_parameters=told)


def _decide(result: ExecutionResult, expected: Sequence[uuid.UUID], cancel: CancelOrigin | None) -> Verdict:
    known = frozenset(expected)
    figures = total([source for source in result.sources if source.task_run_id in known]) if known else result.figures
    origin = cancel or result.cancelled
    if origin is CancelOrigin.OVER_RUNTIME:
        return _failed(_over_runtime(), "over_runtime", figures)
    if origin is not None:
        told = result.parameters if origin is CancelOrigin.HOOK else {}
        return Verdict(RunState.CANCELLED, f"cancelled_{origin}", told, cancel_origin=origin, figures=figures)
    if result.failure is not None:
        return replace(_failed(result.failure, "executor_failed", figures), reason_parameters=result.parameters)
    verdict = _by_sources(complete(result.sources, expected), result) if known else _by_figures(result)
    if result.elsewhere and verdict.state not in (RunState.FAILED, RunState.CANCELLED):
        # What was made is there, but not where the job keeps its backups.
        told = {"observed": result.elsewhere}
        return replace(
            verdict, state=RunState.PARTIAL_FAILURE, reason_code="repository_swapped", reason_parameters=told
        )
    return verdict


def complete(sources: Sequence[SourceResult], expected: Sequence[uuid.UUID]) -> tuple[SourceResult, ...]:
    """Return one result per expected task run: what is missing, or claims success with no backup, is a failure."""
    reported = {source.task_run_id: source for source in sources}
    return tuple(_checked(reported.get(task_run_id), task_run_id) for task_run_id in expected)


def total(sources: Sequence[SourceResult]) -> Figures:
    """Sum the figures; each source that failed or was left out counts as one more skipped object (A6)."""
    summed = {f.name: sum(getattr(source.figures, f.name) for source in sources) for f in fields(Figures)}
    missing = sum(source.state in EXPLAINED_TASK_STATES for source in sources)
    return replace(Figures(**summed), skipped=summed["skipped"] + missing)


def all_sources_failed(failures: Sequence[Failure]) -> Failure:
    """Return the failure of a run whose every source failed: the gravest class, else one that a retry may help."""
    first = failures[0]
    grave = next((f for f in failures if f.failure_class in GRAVE), None)
    retryable = next((f for f in failures if is_retryable(f.failure_class)), None)
    leading = grave or retryable or first
    return Failure(
        "ALL_SOURCES_FAILED",
        f"None of {len(failures)} sources could be backed up. {leading.code}: {leading.message}",
        leading.failure_class,
        hint=leading.hint,
    )


def _checked(source: SourceResult | None, task_run_id: uuid.UUID) -> SourceResult:
    if source is None:
        return SourceResult(task_run_id, TaskState.FAILED, failure=_INCOMPLETE)
    if source.state == TaskState.SUCCEEDED and not (source.backup_id and source.manifest_id and source.mode):
        return replace(source, state=TaskState.FAILED, failure=_INCOMPLETE)
    if source.state in EXPLAINED_TASK_STATES and source.failure is None:
        return replace(source, state=TaskState.FAILED, failure=_INCOMPLETE)
    if source.state not in (TaskState.SUCCEEDED, TaskState.CANCELLED, *EXPLAINED_TASK_STATES):
        return replace(source, state=TaskState.FAILED, failure=_INCOMPLETE)
    return source


def _by_figures(result: ExecutionResult) -> Verdict:
    """Judge a run that has no sources: what it left out is told by its own figures."""
    if not result.figures.skipped:
        return Verdict(RunState.SUCCEEDED, "completed", result.parameters, figures=result.figures)
    told = {"skipped": result.figures.skipped, "reasons": dict(result.skip_reasons), **result.parameters}
    return Verdict(RunState.PARTIAL_FAILURE, "objects_skipped", told, figures=result.figures)


def _by_sources(sources: Sequence[SourceResult], result: ExecutionResult) -> Verdict:
    figures = total(sources)
    left_out = [source.failure or _INCOMPLETE for source in sources if source.state == TaskState.SKIPPED]
    # Without a cancel no source may be cancelled: such an answer is a failure like any other.
    fine = (TaskState.SUCCEEDED, TaskState.SKIPPED)
    failures = [source.failure or _INCOMPLETE for source in sources if source.state not in fine]
    if left_out and len(left_out) == len(sources):
        hook = {"hook": left_out[0].message, "sources": len(left_out)}
        return Verdict(RunState.CANCELLED, "cancelled_hook", hook, cancel_origin=CancelOrigin.HOOK, figures=figures)
    if sources and len(failures) + len(left_out) == len(sources):
        return _failed(all_sources_failed([*failures, *left_out]), "all_sources_failed", figures)
    if figures.skipped or failures:
        skipped = max(figures.skipped, 1)
        reasons = _skip_reasons(sources)
        told = {"skipped": skipped, "sources_failed": len(failures), "reasons": reasons}
        return Verdict(RunState.PARTIAL_FAILURE, "objects_skipped", told, figures=replace(figures, skipped=skipped))
    return Verdict(RunState.SUCCEEDED, "completed", result.parameters, figures=figures)


def _skip_reasons(sources: Sequence[SourceResult]) -> dict[str, int]:
    reasons: Counter[str] = Counter()
    for source in sources:
        reasons.update(source.skip_reasons)
        if source.failure is not None:
            reasons[source.failure.code] += 1
    return dict(reasons.most_common())


def _over_runtime() -> Failure:
    return Failure(
        "OVER_RUNTIME",
        "The run took longer than its maximum runtime and was ended.",
        FailureClass.OVER_RUNTIME,
        hint="Raise the job's maximum runtime, or back up less in one run.",
    )


def _failed(failure: Failure, reason_code: str, figures: Figures) -> Verdict:
    known = failure.failure_class in FailureClass.values
    told = failure if known else replace(failure, failure_class=FailureClass.UNKNOWN)
    return Verdict(RunState.FAILED, reason_code, failure=told, figures=figures)
