"""Which failures are tried again, and after how long (C5, C6, A12). Pure: values in, values out.

Must not read a clock or draw a random number: the jitter is passed in.
"""

import math
from dataclasses import dataclass
from typing import Final

from jobs.states import FailureClass, RunKind

RETRYABLE: Final = frozenset(
    {FailureClass.TRANSIENT, FailureClass.NETWORK, FailureClass.REPOSITORY, FailureClass.SOURCE}
)
MAX_ATTEMPTS: Final = 10
# Of checks and the rest, which belong to no job that could say otherwise.
OPERATION_ATTEMPTS: Final = 3
# The part of a delay that jitter may take away; upwards it would break the cap.
JITTER_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how fast; seconds. The defaults wait 30 s, 60 s, 120 s … at most 15 min."""

    max_attempts: int = 3
    first_delay: float = 30.0
    factor: float = 2.0
    longest_delay: float = 900.0


def operation_attempts(kind: RunKind) -> int:
    """Return how often a run that belongs to no job is tried: a restore once, since somebody waits for what it says."""
    return 1 if kind is RunKind.RESTORE else OPERATION_ATTEMPTS


def is_retryable(failure_class: str) -> bool:
    """Tell whether waiting can help; an unknown class counts as permanent."""
    return failure_class in RETRYABLE


def delay_after(attempt: int, policy: RetryPolicy, jitter: float) -> float:
    """Return the seconds between the end of `attempt` (1 is the first) and the next; `jitter` is in [0, 1].

    In floating point, with the exponent bounded: a large attempt number must give the cap, not an overflow.
    """
    grown = policy.first_delay * math.pow(policy.factor, min(max(attempt, 1) - 1, 64))
    return min(policy.longest_delay, grown) * (1.0 - JITTER_SHARE * min(max(jitter, 0.0), 1.0))


def next_attempt(attempt: int, failure_class: str, policy: RetryPolicy) -> int | None:
    """Return the number of the next attempt, or None when the chain ends here."""
    allowed = min(policy.max_attempts, MAX_ATTEMPTS)
    if not is_retryable(failure_class) or attempt >= allowed:
        return None
    return attempt + 1
