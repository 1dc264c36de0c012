"""What a command says of its engine child's failures, and of an interrupt."""

from dataclasses import dataclass

import pytest

from repositories.console import engine_run
from repositories.console.engine_run import reported, run_engine
from repositories.console.failures import Interrupted
from repositories.console.progress_view import SilentView
from repositories.console.terminal import Terminal
from repositories.engine.process.protocol import ErrorInfo
from repositories.engine.process.requests import RepositoryAccess, Request, SourceRequest


def test_a_lost_engine_is_answered_by_running_it_again() -> None:
    """A command has no log that could be looked into."""
    failure = reported(ErrorInfo(code="ENGINE_LOST", message="the engine process ended by signal 9"))
    assert failure.hint.startswith("run it again")
    assert reported(ErrorInfo(code="INTEGRITY", message="damaged", hint="run check")).hint == "run check"


@dataclass(frozen=True, slots=True)
class InterruptedProcess:
    """A child during which Ctrl-C is pressed; the text of its request does not matter."""

    request: Request
    child: object = None
    stderr_tail: str = ""

    def __enter__(self) -> "InterruptedProcess":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def events(self, seconds: float) -> None:
        raise Interrupted(130)

    def terminate(self, seconds: float) -> None:
        """Ended already."""


@pytest.mark.parametrize(
    ("types", "hint"),
    [
        (["filesystem", "filesystem"], "it goes on from what was read"),
        (["device"], "a device is read from its beginning; what was stored is not stored twice"),
        (["stdin"], "what it backs up is printed and read anew; what was stored is not stored twice"),
        (
            ["filesystem", "device"],
            "trees go on from what was read, devices are read from their beginning; "
            "what was stored is not stored twice",
        ),
    ],
)
def test_the_hint_after_an_interrupt_is_true_of_the_sources(
    types: list[str], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.15: only a tree has a checkpoint; of a device and of a command's output the chunks are kept."""
    monkeypatch.setattr(engine_run, "EngineProcess", InterruptedProcess)
    monkeypatch.setattr(engine_run, "start_child", lambda _: None)
    sources = tuple(SourceRequest(key=str(n), name=each, path=b"/x", type=each) for n, each in enumerate(types))
    request = Request(operation="backup", repository=RepositoryAccess(location="/r", password="x"), sources=sources)
    terminal = Terminal()
    with pytest.raises(Interrupted) as caught:
        run_engine(request, SilentView(), terminal)
    assert caught.value.hint == f"run the command again: {hint}"


@pytest.mark.parametrize(
    ("phase", "told"), [("waiting", "no pack was deleted"), ("deleting", "packs that no backup uses may be gone")]
)
def test_a_prune_that_is_ended_says_whether_anything_can_be_gone(
    phase: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_run, "EngineProcess", InterruptedProcess)
    monkeypatch.setattr(engine_run, "start_child", lambda _: None)
    request = Request(operation="prune", repository=RepositoryAccess(location="/r", password="x"))
    with pytest.raises(Interrupted) as caught:
        run_engine(request, SilentView(), Terminal(), engine_run.Outcome(phase=phase))
    assert told in caught.value.done
