"""Two looks at once: both answers, the first one's error first, and near by nothing but one after the other."""

import threading

import pytest

from repositories.engine.errors import RepositoryError
from repositories.engine.objects.side_by_side import both, side_by_side


def fail(text: str) -> None:
    raise RepositoryError(text)


def test_far_away_both_are_under_way_at_once() -> None:
    met = threading.Barrier(2, timeout=20)
    first, second = both(lambda: met.wait() >= 0, lambda: met.wait() >= 0, 2)
    assert first
    assert second


@pytest.mark.parametrize("at_once", [1, 8])
def test_the_first_error_is_told(at_once: int) -> None:
    with pytest.raises(RepositoryError, match="first"):
        both(lambda: fail("first"), lambda: fail("second"), at_once)
    with pytest.raises(RepositoryError, match="second"):
        both(lambda: None, lambda: fail("second"), at_once)


def test_near_by_the_second_follows_the_first() -> None:
    order: list[str] = []
    both(lambda: order.append("first"), lambda: order.append("second"), 1)
    with pytest.raises(RepositoryError):
        both(lambda: fail("first"), lambda: order.append("never"), 1)
    assert order == ["first", "second"]


class StoppedError(BaseException):
    """A signal's way out."""


def test_who_is_interrupted_waits_for_nothing() -> None:
    """P9: over within 5 s, whatever a server does not answer."""
    answered = threading.Event()

    def stop() -> None:
        raise StoppedError

    try:
        with pytest.raises(StoppedError):
            both(stop, lambda: answered.wait(60), 2)
        with pytest.raises(StoppedError):
            list(side_by_side(lambda number: answered.wait(60) if number else stop(), [0, 1], 2))
        assert threading.active_count() > 2
    finally:
        answered.set()
