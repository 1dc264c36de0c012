"""A repository with two objects of every kind, so that each can be damaged or exchanged for its fellow.

Owns the making, and reading all that it holds: what a restore gives back, and what a check says.
"""

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.controllers import put_controller
from repositories.engine.errors import EngineError
from repositories.engine.format import collection, notes, rotations, verification
from repositories.engine.format.clear import wrap_clear
from repositories.engine.format.kinds import ObjectKind, generation_group, object_name
from repositories.engine.format.records import encode
from repositories.engine.keychain import add_password, rotate
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import Repository, WriteOptions, open_repository
from repositories.engine.restore import RestoreRequest, restore
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.keychain.chains import keychain
from tests.engine.prune.builders import run as prune
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository
from tests.engine.trees import pattern

Contents = dict[str, dict[str, bytes]]
_ID, _OTHER_ID = b"\x07" * 16, b"\x08" * 16
_FOREIGN = (b"another boot id!", 7, 4711, 99, "elsewhere", 0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a changed repository says: whether anything was found, and what each backup gave back."""

    found: bool
    listed: frozenset[str]
    contents: Contents


def build(root: Path) -> dict[str, bytes]:
    """Return the objects of the repository: three backups, one of which is deleted, after two rotations and prunes."""
    storage = MemoryStorage()
    repository = make_repository(storage)
    tree = root / "tree"
    tree.mkdir()
    made: list[str] = []
    for turn in range(4):
        (tree / "same").write_bytes(pattern(60_000, 1))
        (tree / f"new {turn}").write_bytes(pattern(50_000 + turn, 10 + turn))
        (tree / "changing").write_bytes(b"turn %d " % turn * 500)
        repository = open_repository(storage, PASSWORD)
        with repository.begin_write(WriteOptions(workers=1, pack_target=150_000)) as session:
            made.append(back_up_tree(repository, tree, session=session).manifest_id)
        if turn < 2:
            add_password(keychain(storage), b"other %d" % turn, "")
            rotate(keychain(storage), [PASSWORD, b"other %d" % turn])
    repository = open_repository(storage, PASSWORD)
    _delete(repository, made[0])
    prune(storage)
    _delete(repository, made[1])
    _put_others(open_repository(storage, PASSWORD), made[2])
    shutil.rmtree(tree)
    return dict(storage.objects)


def _delete(repository: Repository, manifest_id: str) -> None:
    record = notes.TombstoneRecord((bytes.fromhex(manifest_id),), repository.clock.now_ns(), "old")
    repository.store.put(ObjectKind.TOMBSTONE, encode(record))


def _put_others(repository: Repository, manifest_id: str) -> None:
    """Put two of each kind that backups, prunes and rotations leave none of."""
    store, now = repository.store, repository.clock.now_ns()
    manifest = bytes.fromhex(manifest_id)
    root = repository.backups()[0].root
    for number in (1, 2):
        for kind, record in (
            (ObjectKind.ANNOTATION, notes.AnnotationRecord(notes.AnnotationKind.HOLD, manifest, now, str(number))),
            (ObjectKind.MARK, collection.MarkRecord(10 + number, _ID, now, b"")),
            (ObjectKind.VERIFIED, verification.VerifiedRecord(now + number, b"")),
            (ObjectKind.DAMAGE, verification.DamageRecord(now, b"\x09" * 16, b"\x0a" * 32, f"gone {number}")),
        ):
            store.put(kind, encode(record))
        session_id = store.new_id()
        lease = collection.LeaseRecord(session_id, collection.SessionPurpose.WRITE, number, 0, *_FOREIGN)
        store.put(ObjectKind.SESSION, encode(lease), session_id)
        store.put(ObjectKind.KEY_CHANGE, encode(rotations.KeyChangeRecord(5, 3, *_FOREIGN)))
        put_controller(repository, bytes([number]) * 16, 1, 41 + number)
        with repository.begin_write(WriteOptions(workers=1)) as session:
            session.checkpoint(root)
    for number in (1, 2):
        # Last: nobody commits while it is open whether keys are being rotated.
        intent = rotations.IntentRecord(9, store.new_id(), b"keyring %d" % number)
        name = object_name(ObjectKind.INTENT, intent.keyring_id, generation_group(9))
        repository.storage.put(name, wrap_clear(ObjectKind.INTENT, encode(intent)))


def look(objects: dict[str, bytes], place: Path) -> Verdict:
    """Open, check with all data, and restore everything that is listed."""
    storage = MemoryStorage()
    storage.objects.update(objects)
    found, listed, contents = False, [], {}
    try:
        repository = open_repository(storage, PASSWORD)
        found = not check(repository, CheckRequest(read_data=True, remember=False), Hooks()).ok
    except EngineError:
        found = True
    try:
        repository = open_repository(storage, PASSWORD)
        listed = list_backups(repository)
    except EngineError:
        return Verdict(True, frozenset(), {})
    for backup in listed:
        contents[backup.manifest_id] = _restored(repository, backup, place)
    return Verdict(found, frozenset(backup.manifest_id for backup in listed), contents)


def _restored(repository: Repository, backup: object, place: Path) -> dict[str, bytes]:
    shutil.rmtree(place, ignore_errors=True)
    with contextlib.suppress(EngineError):
        restore(repository, backup, RestoreRequest(os.fsencode(place)), Hooks())  # type: ignore[arg-type]
    return {path.name: path.read_bytes() for path in place.iterdir()} if place.is_dir() else {}
