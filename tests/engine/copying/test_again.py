"""What a manifest tells of a copy outlives its being put once more (docs/repository-format.md, section 7)."""

from pathlib import Path

from repositories.engine.backup.options import Hooks
from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repair import RepairRequest, repair
from repositories.engine.sessions.fences import join_ids
from tests.engine.copying.builders import OTHER_PASSWORD, copy
from tests.engine.copying.small import make_origin, make_target, opened


def test_an_adopted_copy_keeps_its_age_and_origin(tmp_path: Path) -> None:
    """A copy that a prune made void comes back as old as it was: keep rules go by that."""
    origin = make_origin(tmp_path)
    storage = make_target(origin, related=True)
    copy(opened(origin), opened(storage, OTHER_PASSWORD))
    target = opened(storage, OTHER_PASSWORD)
    before = {each.id: (each.received_ns, each.copied) for each in list_backups(target)}
    assert all(copied is not None for _, copied in before.values())
    segments = join_ids(frozenset(target.store.ids(ObjectKind.INDEX)))
    target.store.put(ObjectKind.SWEEP, encode(SweepRecord(1, bytes(16), 0, b"", b"", segments, b"")))
    assert list_backups(opened(storage, OTHER_PASSWORD)) == []
    repair(opened(storage, OTHER_PASSWORD), RepairRequest(adopt=("all",), secret=OTHER_PASSWORD), Hooks())
    after = {each.id: (each.received_ns, each.copied) for each in list_backups(opened(storage, OTHER_PASSWORD))}
    assert after == before
