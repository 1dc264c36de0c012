"""What a fence found in a repository says: every relation of stored, confirmed and intended."""

import pytest

from workers.fences import KnownFences, alarm


@pytest.mark.parametrize(
    ("stored", "confirmed", "intended", "says"),
    [
        (0, 0, 0, None),
        (0, 0, 5, None),
        (5, 0, 5, None),
        (5, 5, 5, None),
        (5, 4, 6, None),
        (6, 5, 5, "This database is older"),
        (1, 0, 0, "This database is older"),
        (4, 5, 5, "was rolled back"),
        (0, 5, 9, "was rolled back"),
    ],
)
def test_the_two_comparisons(stored: int, confirmed: int, intended: int, says: str | None) -> None:
    """Object > intended: an older dump; object < confirmed: a rolled back repository (execution.md, section 5)."""
    reason = alarm(stored, KnownFences(intended=intended, confirmed=confirmed))
    assert (reason is None) if says is None else (says in (reason or ""))
