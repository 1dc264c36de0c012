"""The engine's words as the control plane's: every figure arrives, and hostile text can be stored."""

import uuid

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.executors import ExecutionSource, Figures
from jobs.states import FailureClass, TaskState
from repositories.engine.process.protocol import ErrorInfo, ProblemInfo, SourceFigures, SourceFinished
from workers import outcome

SOURCE = ExecutionSource(uuid.uuid4(), uuid.uuid4(), "home", "filesystem", b"/home", (), "chain")


def figures(**changed: object) -> SourceFigures:
    given_figures = {name: number for number, name in enumerate(Figures.__dataclass_fields__, start=1)}
    values = {"backup_id": "run-x", "manifest_id": "ab", "chain": "c", "mode": "full", "started_ns": 5_000, **changed}
    return msgspec.convert({**given_figures, **values}, SourceFigures)


def test_every_figure_of_a_success_arrives() -> None:
    """A4: the figures are returned; C9 tells them apart."""
    event = SourceFinished(source="k", status="succeeded", result=figures())
    result = outcome.source_result(SOURCE, event, "home")
    expected = {name: number for number, name in enumerate(Figures.__dataclass_fields__, start=1)}
    assert result.state is TaskState.SUCCEEDED
    assert {name: getattr(result.figures, name) for name in expected} == expected
    assert result.failure is None


def test_a_success_without_figures_is_a_failure() -> None:
    result = outcome.source_result(SOURCE, SourceFinished(source="k", status="succeeded"), "home")
    assert result.state is TaskState.FAILED
    assert result.failure is not None


def test_an_unheard_of_failure_class_is_unknown() -> None:
    failure = outcome.failure_of(ErrorInfo(code="X", message="m", failure_class="made-up"))
    assert failure.failure_class is FailureClass.UNKNOWN


@pytest.mark.parametrize("code", ["SOURCE_EMPTY", "SOURCE_UNMOUNTED"])
def test_what_can_be_accepted_says_how(code: str) -> None:
    """E8, 2.6: the next step of a job, ready to be typed."""
    error = ErrorInfo(code=code, message="source /home is empty", hint="an option", failure_class="source")
    event = SourceFinished(source="k", status="failed", error=error)
    failure = outcome.source_result(SOURCE, event, "my job").failure
    assert failure is not None
    assert failure.hint.endswith("confirm it once: ./syncova ctl job run 'my job' --accept-new-root")


def test_only_skipped_objects_count_as_reasons() -> None:
    """A11: the reason comes with the count."""
    problems = (
        ProblemInfo(severity="skipped", code="NO_PERMISSION", path="a"),
        ProblemInfo(severity="skipped", code="NO_PERMISSION", path="b"),
        ProblemInfo(severity="warning", code="CHANGED", path="c"),
    )
    result = outcome.succeeded(SOURCE, figures(problems=msgspec.to_builtins(problems)))
    assert result.skip_reasons == {"NO_PERMISSION": 2}
    assert [problem["path"] for problem in result.problems] == ["a", "b", "c"]


@given(st.text(st.characters(codec=None, categories=None), max_size=3000))
def test_any_text_can_be_stored(text: str) -> None:
    stored = outcome.clean(text)
    assert "\0" not in stored
    stored.encode("utf-8")
    assert len(stored) <= outcome.MAX_TEXT


@pytest.mark.parametrize("text", ["", "plain", "Ünïcode ok", "line\nbreak"])
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert outcome.clean(text) == text
