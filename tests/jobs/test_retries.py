"""Back-off and classes of retries (C5, C6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.retries import RetryPolicy, delay_after, is_retryable, next_attempt
from jobs.states import FailureClass

DEFAULT = RetryPolicy()


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(1, 30), (2, 60), (3, 120), (4, 240), (5, 480), (6, 900), (9, 900), (10**6, 900)]
)
def test_the_delay_doubles_up_to_fifteen_minutes(attempt: int, seconds: int) -> None:
    """C6: also far beyond any shift of bits."""
    assert delay_after(attempt, DEFAULT, 0.0) == seconds


@given(attempt=st.integers(-5, 10**9), jitter=st.floats(0, 1))
def test_jitter_works_downwards_only(attempt: int, jitter: float) -> None:
    """C6."""
    exact = delay_after(attempt, DEFAULT, 0.0)
    assert 0.75 * exact <= delay_after(attempt, DEFAULT, jitter) <= exact <= 900


@given(attempt=st.integers(1, 10))
def test_jitter_pulls_runs_apart(attempt: int) -> None:
    assert delay_after(attempt, DEFAULT, 0.9) < delay_after(attempt, DEFAULT, 0.1)


@pytest.mark.parametrize("failure_class", [*FailureClass.values, "unheard of", ""])
def test_which_classes_are_tried_again(failure_class: str) -> None:
    """C5: an unknown class is permanent."""
    retried = failure_class in ("transient", "network", "repository", "source")
    assert is_retryable(failure_class) is retried
    assert next_attempt(1, failure_class, DEFAULT) == (2 if retried else None)


@pytest.mark.parametrize(
    ("attempt", "allowed", "following"), [(1, 3, 2), (2, 3, 3), (3, 3, None), (1, 1, None), (9, 10, 10), (10, 99, None)]
)
def test_attempts_are_bounded(attempt: int, allowed: int, following: int | None) -> None:
    """C6: at most 10, whatever the policy says."""
    assert next_attempt(attempt, "network", RetryPolicy(max_attempts=allowed)) == following
