"""Checks the small objects that everything depends on: both copies there, both whole.

Owns the reading of each copy by itself; a reader elsewhere is content with either.
"""

import contextlib
import time
from collections.abc import Callable

from repositories.engine.check.report import Beat, Findings
from repositories.engine.errors import IntegrityError, ObjectMissingError, RetiredKeyError, UnsupportedFormatError
from repositories.engine.format.config import parse_config
from repositories.engine.format.kinds import DIRECTORIES, WRITTEN_TWICE, ObjectKind, names_of, object_id_of
from repositories.engine.keys.slots import parse_slot
from repositories.engine.objects.pairs import get_bounded
from repositories.engine.repository import Repository
from repositories.engine.sessions.half_done import is_half_done, read_leases

_PARSED: dict[ObjectKind, Callable[[bytes], object]] = {ObjectKind.CONFIG: parse_config, ObjectKind.SLOT: parse_slot}
_SETTLE_SECONDS = 0.2
_SEALED_ONCE = (
    ObjectKind.CHECKPOINT,
    ObjectKind.ANNOTATION,
    ObjectKind.TOMBSTONE,
    ObjectKind.MARK,
    ObjectKind.CONTROLLER,
    ObjectKind.VERIFIED,
    ObjectKind.DAMAGE,
)


class Suspects:
    """Objects with something wrong at the first look: another writer may just be putting or removing them."""

    def __init__(self) -> None:
        self.found: list[tuple[ObjectKind, str]] = []


def check_copies(repository: Repository, suspects: Suspects, beat: Beat) -> int:
    """Read every small object in every copy; return how many objects there are."""
    checked = 0
    for kind in (*sorted(WRITTEN_TWICE), *_SEALED_ONCE):
        for name in repository.store.names(kind):
            beat()
            if _wrong_copies(repository, kind, name):
                suspects.found.append((kind, name))
            checked += 1
    return checked


def confirm_suspects(repository: Repository, suspects: Suspects, findings: Findings) -> int:
    """Look at the suspects again, and report those that are still there and still wrong.

    Returns how many pairs are no problem: whoever put or removed them died between the two copies, or is at it.
    """
    if suspects.found:
        time.sleep(_SETTLE_SECONDS)
    there = {kind: frozenset(repository.store.names(kind)) for kind, _ in suspects.found}
    leases = read_leases(repository.store) if suspects.found else {}
    half_done = 0
    for kind, name in suspects.found:
        wrong = _wrong_copies(repository, kind, name) if name in there[kind] else []
        if wrong and is_half_done(repository.store, kind, name, leases):
            half_done += 1
            continue
        for copy, message in wrong:
            findings.add("copy", copy, message)
    _, damaged = repository.slots()
    if damaged:
        findings.add("keyring", DIRECTORIES[ObjectKind.SLOT], f"{damaged} key slots are damaged")
    return half_done


def _wrong_copies(repository: Repository, kind: ObjectKind, name: str) -> list[tuple[str, str]]:
    """Return (name of a copy, what is wrong with it)."""
    wrong: list[tuple[str, str]] = []
    seen: set[bytes] = set()
    if kind is ObjectKind.INVENTORY and object_id_of(name) != repository.keyring.record.inventory_id:
        return []  # of an earlier generation, or of one that never came to be: it means nothing
    copies = names_of(kind, name)
    if not any(_is_there(repository, copy) for copy in copies):
        return []  # removed since it was listed: what nobody lists is no half of anything
    for copy in copies:
        try:
            data = get_bounded(repository.storage, kind, copy)
            _open(repository, kind, name, data)
        except RetiredKeyError:
            return []  # it does not count: as if it were not there
        except (ObjectMissingError, IntegrityError, UnsupportedFormatError) as error:
            wrong.append((copy, error.message))
        else:
            seen.add(data)
    if len(seen) > 1:
        other = names_of(kind, name)[1]
        wrong.append((name, f"it and {other} differ: one of the two is damaged"))
    return wrong


def _is_there(repository: Repository, name: str) -> bool:
    try:
        return repository.storage.size(name) >= 0
    except ObjectMissingError:
        return False


def _open(repository: Repository, kind: ObjectKind, name: str, data: bytes) -> None:
    """Raise IntegrityError for a damaged object. A keyring opens by its slot's key alone, which nobody keeps."""
    object_id = object_id_of(name)
    parse = _PARSED.get(kind)
    if parse is not None:
        with contextlib.suppress(UnsupportedFormatError):
            parse(data)
    elif kind is not ObjectKind.KEYRING and object_id is not None:
        repository.store.open(kind, object_id, data)
