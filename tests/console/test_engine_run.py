"""What a command says of its engine child's failures."""

from repositories.console.engine_run import reported
from repositories.engine.process.protocol import ErrorInfo


def test_a_lost_engine_is_answered_by_running_it_again() -> None:
    """A command has no log that could be looked into."""
    failure = reported(ErrorInfo(code="ENGINE_LOST", message="the engine process ended by signal 9"))
    assert failure.hint.startswith("run it again")
    assert reported(ErrorInfo(code="INTEGRITY", message="damaged", hint="run check")).hint == "run check"
