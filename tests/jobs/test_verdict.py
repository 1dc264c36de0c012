"""The verdict over a run (A6, A11): its order, and what can never be a success."""

import itertools
import uuid

import pytest

from jobs.executors import ExecutionResult, Failure, Figures, SourceResult
from jobs.models import Run
from jobs.sentences import reason_sentence
from jobs.states import BackupMode, CancelOrigin, FailureClass, RunState, TaskState
from jobs.verdict import decide

FIRST, SECOND = uuid.UUID(int=1), uuid.UUID(int=2)
BROKEN = Failure("REPOSITORY_FULL", "No room is left.", FailureClass.REPOSITORY, hint="Make room.")


def good(task: uuid.UUID = FIRST, *, skipped: int = 0, **fields: object) -> SourceResult:
    values = {
        "backup_id": f"run-{task}",
        "manifest_id": "m",
        "mode": BackupMode.FULL,
        "figures": Figures(files=10, skipped=skipped, bytes_read=7),
        "skip_reasons": {"permission": skipped} if skipped else {},
    }
    return SourceResult(task, TaskState.SUCCEEDED, **(values | fields))  # type: ignore[arg-type]


def bad(task: uuid.UUID, failure_class: FailureClass = FailureClass.SOURCE) -> SourceResult:
    return SourceResult(task, TaskState.FAILED, failure=Failure("SOURCE_MISSING", "It is gone.", failure_class))


def test_all_good_is_a_success() -> None:
    verdict = decide(ExecutionResult(sources=(good(FIRST), good(SECOND))), [FIRST, SECOND])
    assert (verdict.state, verdict.figures.files, verdict.figures.bytes_read) == (RunState.SUCCEEDED, 20, 14)


def test_skipped_objects_are_a_partial_failure_with_their_reason() -> None:
    """A11: "17 objects skipped: no read permission"."""
    verdict = decide(ExecutionResult(sources=(good(skipped=17),)), [FIRST])
    assert verdict.state is RunState.PARTIAL_FAILURE
    assert verdict.failure is None
    assert verdict.reason_parameters == {"skipped": 17, "sources_failed": 0, "reasons": {"permission": 17}}


def test_what_went_to_a_swapped_repository_is_no_success() -> None:
    """A10: the run went on, but not where the job keeps its backups; a failure stays one."""
    verdict = decide(ExecutionResult(sources=(good(),), elsewhere="ab" * 16), [FIRST])
    assert (verdict.state, verdict.reason_code) == (RunState.PARTIAL_FAILURE, "repository_swapped")
    told = Run(state=verdict.state, reason_code=verdict.reason_code, reason_parameters=verdict.reason_parameters)
    assert f"the run met {'ab' * 16} in place of the registered one" in reason_sentence(told)
    assert decide(ExecutionResult(sources=(bad(FIRST),), elsewhere="ab" * 16), [FIRST]).state is RunState.FAILED


@pytest.mark.parametrize("end", [good(), bad(FIRST), good(skipped=2)])
def test_hooks_that_warned_are_counted_and_named_and_change_no_state(end: SourceResult) -> None:
    """A warning leaves a success one, and is always shown (docs/concepts.md)."""
    plain = decide(ExecutionResult(sources=(end,)), [FIRST])
    warned = decide(ExecutionResult(sources=(end,), hooks_warned=("thaw (after the job) ended so",)), [FIRST])
    assert (warned.state, warned.reason_code, warned.failure) == (plain.state, plain.reason_code, plain.failure)
    assert (plain.figures.warnings, warned.figures.warnings) == (0, 1)
    told = Run(state=warned.state, reason_code=warned.reason_code, reason_parameters=warned.reason_parameters)
    assert reason_sentence(told).endswith("A hook warned: thaw (after the job) ended so.")


def test_of_many_hooks_that_warned_the_first_are_named() -> None:
    hooks = tuple(f"hook {number}" for number in range(30))
    verdict = decide(ExecutionResult(sources=(good(),), hooks_warned=hooks), [FIRST])
    assert (verdict.figures.warnings, len(verdict.reason_parameters["hooks_warned"])) == (30, 20)
    told = Run(state=verdict.state, reason_code=verdict.reason_code, reason_parameters=verdict.reason_parameters)
    assert reason_sentence(told) == "Completed. Hooks warned: hook 0; hook 1; hook 2; others."


def test_a_failed_source_counts_as_skipped() -> None:
    """A6: the others are backed up, and the run is never a success."""
    verdict = decide(ExecutionResult(sources=(good(FIRST), bad(SECOND))), [FIRST, SECOND])
    assert (verdict.state, verdict.figures.skipped) == (RunState.PARTIAL_FAILURE, 1)
    assert verdict.reason_parameters["reasons"] == {"SOURCE_MISSING": 1}


def left_out(task: uuid.UUID = FIRST) -> SourceResult:
    failure = Failure("HOOK_SKIPPED", "The hook ready ended with exit code 75: skip.", FailureClass.HOOK)
    return SourceResult(task, TaskState.SKIPPED, failure=failure)


def test_a_hook_that_cancels_is_named_unless_a_person_did() -> None:
    told = {"hook": "The hook ready ended with exit code 75: skip."}
    result = ExecutionResult(cancelled=CancelOrigin.HOOK, parameters=told)
    assert decide(result, [FIRST]).reason_parameters == told
    assert decide(result, [FIRST], CancelOrigin.USER).reason_parameters == {}


def test_a_source_that_a_hook_left_out_is_no_failure_and_no_success() -> None:
    """6.4: the others are backed up; where none is left there was nothing to do; a failure beside it stays one."""
    partial = decide(ExecutionResult(sources=(good(FIRST), left_out(SECOND))), [FIRST, SECOND])
    assert (partial.state, partial.figures.skipped) == (RunState.PARTIAL_FAILURE, 1)
    assert partial.reason_parameters == {"skipped": 1, "sources_failed": 0, "reasons": {"HOOK_SKIPPED": 1}}
    for elsewhere in ("", "ab" * 16):
        nothing = decide(ExecutionResult(sources=(left_out(), left_out(SECOND)), elsewhere=elsewhere), [FIRST, SECOND])
        assert (nothing.state, nothing.cancel_origin) == (RunState.CANCELLED, CancelOrigin.HOOK)
        assert nothing.told()["hook"] == "The hook ready ended with exit code 75: skip."
    mixed = decide(ExecutionResult(sources=(left_out(), bad(SECOND))), [FIRST, SECOND])
    assert mixed.failure is not None
    assert (mixed.state, mixed.failure.failure_class) == (RunState.FAILED, FailureClass.SOURCE)
    unexplained = decide(ExecutionResult(sources=(SourceResult(FIRST, TaskState.SKIPPED),)), [FIRST])
    assert unexplained.state is RunState.FAILED


@pytest.mark.parametrize(
    ("classes", "leading"),
    [
        (["source", "source"], "source"),
        (["configuration", "network"], "network"),
        (["network", "integrity"], "integrity"),
        (["security", "source"], "security"),
        (["configuration", "hook"], "configuration"),
    ],
)
def test_all_sources_failed(classes: list[str], leading: str) -> None:
    """A6: the gravest class, else the first that a retry may help, else the first."""
    tasks = [uuid.UUID(int=n) for n in range(len(classes))]
    sources = tuple(bad(task, FailureClass(each)) for task, each in zip(tasks, classes, strict=True))
    verdict = decide(ExecutionResult(sources=sources), tasks)
    assert verdict.state is RunState.FAILED
    assert verdict.failure is not None
    assert (verdict.failure.code, verdict.failure.failure_class) == ("ALL_SOURCES_FAILED", leading)
    assert "It is gone." in verdict.failure.message


def test_the_order_of_reasons() -> None:
    """A11: cancelled > executor's error > skipped > success, in every combination."""
    for cancelled, failed, skipped in itertools.product((False, True), repeat=3):
        result = ExecutionResult(
            cancelled=CancelOrigin.USER if cancelled else None,
            failure=BROKEN if failed else None,
            sources=(good(skipped=3 if skipped else 0),),
        )
        expected = (
            RunState.CANCELLED
            if cancelled
            else RunState.FAILED
            if failed
            else RunState.PARTIAL_FAILURE
            if skipped
            else RunState.SUCCEEDED
        )
        assert decide(result, [FIRST]).state is expected


def test_a_cancel_that_was_answered_outweighs_a_success_that_came_later() -> None:
    verdict = decide(ExecutionResult(sources=(good(),)), [FIRST], cancel=CancelOrigin.USER)
    assert (verdict.state, verdict.cancel_origin) == (RunState.CANCELLED, CancelOrigin.USER)


def test_a_person_outweighs_a_shutdown() -> None:
    verdict = decide(ExecutionResult(cancelled=CancelOrigin.SHUTDOWN), [FIRST], cancel=CancelOrigin.USER)
    assert verdict.cancel_origin is CancelOrigin.USER


def test_too_long_a_run_has_failed() -> None:
    verdict = decide(ExecutionResult(cancelled=CancelOrigin.OVER_RUNTIME), [FIRST])
    assert verdict.state is RunState.FAILED
    assert verdict.failure is not None
    assert verdict.failure.failure_class is FailureClass.OVER_RUNTIME


@pytest.mark.parametrize(
    "sources",
    [
        (),
        (good(SECOND),),
        (good(backup_id=""),),
        (good(manifest_id=""),),
        (good(mode=None),),
        (SourceResult(FIRST, TaskState.RUNNING),),
        (SourceResult(FIRST, TaskState.FAILED),),
        (SourceResult(FIRST, TaskState.CANCELLED),),
    ],
)
def test_nothing_is_a_success_without_a_backup(sources: tuple[SourceResult, ...]) -> None:
    """A3: what was not reported, or names no manifest, was not backed up."""
    verdict = decide(ExecutionResult(sources=sources), [FIRST])
    assert verdict.state is RunState.FAILED
    assert verdict.failure is not None
    assert verdict.failure.code == "ALL_SOURCES_FAILED"
    assert verdict.failure.failure_class is FailureClass.UNKNOWN


def test_an_unheard_of_class_is_unknown() -> None:
    """C5: and therefore never tried again."""
    strange = Failure("ODD", "Odd.", "gremlins")  # type: ignore[arg-type]
    verdict = decide(ExecutionResult(failure=strange), [FIRST])
    assert verdict.failure is not None
    assert verdict.failure.failure_class is FailureClass.UNKNOWN


def test_a_run_without_sources_succeeds_by_having_no_error() -> None:
    """A check or restore has no task runs."""
    assert decide(ExecutionResult(parameters={"files": 3}), []).state is RunState.SUCCEEDED
