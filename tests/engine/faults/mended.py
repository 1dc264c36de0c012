"""What must hold when a damaged repository is repaired, checked, backed up to and pruned (3.2, 3.11).

Owns the order and the judgement: a repair makes nothing worse, loses no byte of what it moves, names what is hurt, and
says that all is well only if it is; the next backup is whole, and a prune takes nothing away that can be restored.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.errors import BackupUnreadableError, EngineError, IntegrityError
from repositories.engine.format.kinds import WRITTEN_TWICE, ObjectKind
from repositories.engine.manifest.backups import list_backups
from repositories.engine.packs.directory import PackClass
from repositories.engine.repair import RepairReport, RepairRequest, list_aside, repair
from repositories.engine.repository import WriteOptions, open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.faults.damages import Damage, Objects, kind_of
from tests.engine.faults.scene import Contents, Verdict, look
from tests.engine.prune.builders import run as prune
from tests.engine.repositories import PASSWORD, back_up_tree

OPENS = frozenset({ObjectKind.CONFIG, ObjectKind.SLOT, ObjectKind.KEYRING, ObjectKind.INVENTORY})
OF_OTHERS = frozenset({ObjectKind.SESSION, ObjectKind.INTENT, ObjectKind.KEY_CHANGE})
"""What tells of other processes: repairs leave it alone, and the ground has none of it, since writers wait for them."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Objects of a whole repository, what each of its backups holds (deleted ones too), and the newest one's files."""

    objects: Objects
    truth: Contents
    listed: frozenset[str]
    data_packs: frozenset[str]
    newest: dict[str, bytes]


def make_ground(objects: Objects, place: Path) -> Ground:
    """Return the ground that the objects of the scene make."""
    left = {name: data for name, data in objects.items() if kind_of(name) not in OF_OTHERS}
    undeleted = {name: data for name, data in left.items() if kind_of(name) is not ObjectKind.TOMBSTONE}
    truth = look(undeleted, place).contents
    repository = open_repository(_storage(left), PASSWORD)
    backups = list_backups(repository)
    packs = repository.reader().index.packs().values()
    data = {pack.pack_id.hex() for pack in packs if pack.pack_class == PackClass.DATA}
    listed = frozenset(backup.manifest_id for backup in backups)
    assert len(truth) == 3
    return Ground(left, truth, listed, frozenset(data), truth[backups[-1].manifest_id])


def require_mended(ground: Ground, damage: Damage, place: Path, told: str) -> None:
    """Damage, repair, look; then back up, look, prune and look again."""
    hurt = damage.apply(dict(ground.objects))
    before = look(hurt, place / "before")
    storage = _storage(hurt)
    try:
        repository = open_repository(storage, PASSWORD)
    except EngineError:
        assert damage.copies == "all", told
        assert damage.kind in OPENS, told
        return
    report = repair(repository, RepairRequest(read_data=True, secret=PASSWORD), Hooks())
    _require_kept(ground, hurt, storage, told)
    after = look(storage.objects, place / "after")
    _require_no_worse(ground, before.contents, after, told)
    _require_told(ground, damage, (report, storage), after, told)
    _require_healed(ground, damage, storage, (after, place), told)


def _storage(objects: Objects) -> MemoryStorage:
    storage = MemoryStorage()
    storage.objects.update(objects)
    return storage


def _require_kept(ground: Ground, hurt: Objects, storage: MemoryStorage, told: str) -> None:
    """Each object is where it was or aside, but for a wrong copy in whose place the whole one is now."""
    aside = {(each.original, storage.objects[each.name]) for each in list_aside(storage)}
    for name, data in hurt.items():
        now = storage.objects.get(name)
        if now == data or (name, data) in aside:
            continue
        assert kind_of(name) in WRITTEN_TWICE, f"{name} is gone: {told}"
        assert now == ground.objects[name], f"{name} is another one: {told}"


def _require_no_worse(ground: Ground, before: Contents, after: Verdict, told: str) -> None:
    for backup, contents in before.items():
        assert contents.items() <= after.contents.get(backup, {}).items(), f"{backup} is worse: {told}"
    for backup, contents in after.contents.items():
        assert contents.items() <= ground.truth[backup].items(), f"{backup} is wrong: {told}"


def _require_told(
    ground: Ground, damage: Damage, mended: tuple[RepairReport, MemoryStorage], after: Verdict, told: str
) -> None:
    report, storage = mended
    hurt = {each.backup_id: set(each.paths) for each in report.after.hurt}
    ids = {each.manifest_id: each.id for each in list_backups(open_repository(storage, PASSWORD))}
    for backup, contents in after.contents.items():
        lost = ground.truth[backup].keys() - contents.keys()
        assert not lost or hurt.get(ids[backup]), f"{backup} lacks {lost} and is not named: {told}"
        if damage.name.rpartition("/")[2] in ground.data_packs:
            assert lost <= hurt.get(ids[backup], set()), f"paths of {backup} are not named: {told}"
    named = {step.object for step in report.steps if not step.done} | {each.object for each in report.after.problems}
    gone = ground.listed - after.listed
    if damage.harm == "removed" and damage.copies == "all" and damage.kind is ObjectKind.MANIFEST:
        return
    assert {f"manifests/{each}" for each in gone} <= named, f"{gone} are not named: {told}"
    if report.exit_code == 0:
        assert not after.found, f"not mended, and not told: {told}"
        assert all(after.contents[each] == ground.truth[each] for each in ground.listed), f"not whole: {told}"


def _require_healed(
    ground: Ground, damage: Damage, storage: MemoryStorage, mended: tuple[Verdict, Path], told: str
) -> None:
    after, place = mended
    newest = _back_up(ground, storage, place)
    final = look(storage.objects, place / "final")
    assert final.contents[newest] == ground.newest, f"the next backup is not whole: {told}"
    _require_no_worse(ground, after.contents, _without(final, newest), told)
    if damage.kind is ObjectKind.PACK and damage.name.rpartition("/")[2] in ground.data_packs:
        there = set(ground.newest.values())
        for backup in after.contents:
            healed = {name for name, data in ground.truth[backup].items() if data in there}
            assert healed <= final.contents[backup].keys(), f"{backup} is not healed: {told}"
    try:
        prune(storage)
    except (BackupUnreadableError, IntegrityError):
        assert final.found, f"a prune is refused, and nothing is wrong: {told}"
    pruned = look(storage.objects, place / "pruned")
    assert pruned.contents == final.contents, f"a prune took what could be restored: {told}"


def _back_up(ground: Ground, storage: MemoryStorage, place: Path) -> str:
    tree = place / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name, data in ground.newest.items():
        (tree / name).write_bytes(data)
    repository = open_repository(storage, PASSWORD)
    with repository.begin_write(WriteOptions(workers=1, pack_target=150_000)) as session:
        return back_up_tree(repository, tree, session=session).manifest_id


def _without(verdict: Verdict, backup: str) -> Verdict:
    contents = {each: files for each, files in verdict.contents.items() if each != backup}
    return Verdict(verdict.found, verdict.listed - {backup}, contents)
