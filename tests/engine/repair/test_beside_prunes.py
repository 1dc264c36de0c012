"""A repair puts its sweep while a prune that was taken for dead wakes up and puts its own (3.2, 3.8)."""

import pytest

from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.kinds import COPIES, ObjectKind, object_name
from repositories.engine.format.records import encode
from repositories.engine.repository import open_repository
from repositories.engine.sessions.views import read_newest_sweep
from tests.engine.awaking import Awaking, prepare_sweep, put_loose
from tests.engine.contents import commit, require_readable
from tests.engine.repair.hurting import flip, mend
from tests.engine.repositories import PASSWORD, make_repository


@pytest.mark.parametrize("awakes_at", [0, 1, 2], ids=["the numbers", "what is unlisted", "what counts"])
def test_the_new_sweep_accepts_no_segment_that_the_other_one_made_void(awakes_at: int) -> None:
    """Packs that it alone lists may be gone: whoever counted them as stored would lose a backup."""
    storage = Awaking(awakes_at)
    repository = make_repository(storage)
    commit(repository, 1)
    void = put_loose(repository)
    lost = repository.store.put(ObjectKind.SWEEP, encode(SweepRecord(7, bytes(16), 1, b"", b"", b"", b"")))
    for copy in ("", COPIES):
        flip(storage, copy + object_name(ObjectKind.SWEEP, lost), -1)
    prepare_sweep(storage, repository.store, 8, void)
    mend(storage)
    assert storage.awoke
    repaired = open_repository(storage, PASSWORD)
    sweep = read_newest_sweep(repaired.store)
    assert sweep.number > 8
    assert void not in sweep.segments
    assert len(require_readable(repaired)) == 1
