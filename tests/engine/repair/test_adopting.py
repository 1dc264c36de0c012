"""Void manifests become backups again, after everything that they need was read (engine.md, section 5)."""

from pathlib import Path

import pytest

from repositories.engine.errors import BackupNotFoundError
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import open_repository
from repositories.engine.sessions.views import read_marks
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repair.hurting import (
    flip,
    mend,
    packs,
    require_whole,
    run_check,
)
from tests.engine.repositories import PASSWORD


def sweep_all_but(storage: MemoryStorage, kept: set[str]) -> None:
    """Put a sweep that accepts only `kept` manifests, as a prune does that had given up on the others' sessions."""
    store = open_repository(storage, PASSWORD).store
    segments = b"".join(sorted(store.ids(ObjectKind.INDEX)))
    manifests = b"".join(sorted(map(bytes.fromhex, kept)))
    store.put(ObjectKind.SWEEP, encode(SweepRecord(1, bytes(16), 1, manifests, b"", segments, b"")))


@pytest.mark.parametrize("by", ["manifest_id", "id", "all"])
def test_void_manifests_are_adopted_after_all_was_read(storage: MemoryStorage, tmp_path: Path, by: str) -> None:
    first, second = list_backups(open_repository(storage, PASSWORD))
    sweep_all_but(storage, {first.manifest_id})
    report = run_check(storage)
    assert (report.ok, report.backups, report.void_manifests) == (True, 1, 1)
    assert mend(storage).adopted == ()
    with pytest.raises(BackupNotFoundError) as caught:
        mend(storage, adopt=("ffffffffffff",))
    assert second.manifest_id in caught.value.hint
    wanted = "all" if by == "all" else str(getattr(second, by))[:20]
    adopted = mend(storage, adopt=(wanted,))
    assert (adopted.exit_code, adopted.adopted) == (0, (second.id,))
    assert [each.id for each in list_backups(open_repository(storage, PASSWORD))] == [first.id, second.id]
    require_whole(storage, tmp_path / "out")
    assert mend(storage, adopt=("all",)).adopted == ()


def test_a_void_manifest_that_lacks_anything_is_not_adopted(storage: MemoryStorage) -> None:
    first, _ = list_backups(open_repository(storage, PASSWORD))
    sweep_all_but(storage, {first.manifest_id})
    victim = packs(storage, 1)[-1]
    flip(storage, victim)
    report = mend(storage, adopt=("all",))
    assert (report.exit_code, report.adopted, report.undone) == (13, (), 1)
    assert len(list_backups(open_repository(storage, PASSWORD))) == 1


class Marked(MemoryStorage):
    """Gets the mark of another prune with every manifest that is put."""

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        super().put(name, data, overwrite=overwrite)
        if name.startswith("manifests/"):
            store = open_repository(self, PASSWORD).store
            number = read_marks(store).highest + 1
            store.put(ObjectKind.MARK, encode(MarkRecord(number, bytes(16), 1, b"")))


def test_an_adoption_that_prunes_pass_by_says_that_the_repair_is_to_be_run_again(small: MemoryStorage) -> None:
    first, second = list_backups(open_repository(small, PASSWORD))
    sweep_all_but(small, {first.manifest_id})
    marked = Marked()
    marked.objects = small.objects
    report = mend(marked, adopt=("all",))
    assert (report.exit_code, report.adopted, report.undone) == (13, (), 1)
    (step,) = report.steps
    assert "while this repair was being committed" in step.message
    assert "run the backup again" not in step.message
    assert mend(small, adopt=("all",)).adopted == (second.id,)
