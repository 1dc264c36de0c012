"""What epoch and fence found in a repository say: every relation of stored, confirmed and intended."""

import pytest

from workers.fences import Cause, KnownMark, StoredMark, alarm

OLDER, TWIN, BACK = Cause.OLDER_DATABASE, Cause.TWIN, Cause.ROLLED_BACK


@pytest.mark.parametrize(
    ("stored", "confirmed", "intended", "says"),
    [
        (0, 0, 0, None),
        (0, 0, 5, None),
        (5, 0, 5, None),
        (5, 5, 5, None),
        (5, 4, 6, None),
        (6, 5, 5, OLDER),
        (1, 0, 0, OLDER),
        (4, 5, 5, BACK),
        (0, 5, 9, BACK),
    ],
)
def test_the_two_comparisons(stored: int, confirmed: int, intended: int, says: Cause | None) -> None:
    """Object > intended: an older dump; object < confirmed: a rolled back repository (execution.md, section 5)."""
    found = alarm(StoredMark(1 if stored else 0, stored), KnownMark(1, intended=intended, confirmed=confirmed))
    assert (None if found is None else found.cause) is says
    assert found is None or found.wants_reindex == (says is OLDER)


@pytest.mark.parametrize(
    ("stored", "own", "says"),
    [
        (StoredMark(2, 3), 1, TWIN),
        (StoredMark(2, 9), 1, TWIN),
        # Taken over, and not put yet: the next opening for writing puts it.
        (StoredMark(1, 5), 2, None),
        (StoredMark(1, 6), 2, OLDER),
        (StoredMark(2, 4), 2, BACK),
    ],
)
def test_an_epoch_that_is_not_ours(stored: StoredMark, own: int, says: Cause | None) -> None:
    found = alarm(stored, KnownMark(own, intended=5, confirmed=5))
    assert (None if found is None else found.cause) is says
