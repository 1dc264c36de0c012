"""Small objects that are kept twice: the whole copy is put where the other is missing or damaged.

Owns which of two copies is whole. Writers put the first copy before the second and take them back in that order, so
what looks odd is looked at again after a while.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from repositories.engine.codec.envelopes import open_record
from repositories.engine.errors import (
    EngineError,
    IntegrityError,
    ObjectMissingError,
    RetiredKeyError,
    UnsupportedFormatError,
)
from repositories.engine.format.config import parse_config
from repositories.engine.format.kinds import (
    WRITTEN_TWICE,
    ObjectKind,
    generation_group,
    generation_of,
    names_of,
    object_id_of,
    object_name,
)
from repositories.engine.keys.slots import parse_slot
from repositories.engine.objects.pairs import get_bounded
from repositories.engine.opening import OpenedRepository, unlock
from repositories.engine.repair.report import RepairRequest, Steps
from repositories.engine.repository import Repository
from repositories.engine.sessions.half_done import is_half_done, read_leases

_SETTLE_SECONDS = 2.0
Beat = Callable[[], None]


@dataclass(slots=True)
class _Pair:
    """The copies of one object: bytes of those that are whole, and what is wrong with the others."""

    kind: ObjectKind
    name: str
    whole: dict[str, bytes] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)


class CopyMender:
    """Mends pairs of one repository."""

    def __init__(self, repository: Repository, request: RepairRequest, settle: Callable[[float], None] = time.sleep):
        self._repository = repository
        self._request = request
        self._settle = settle
        self._opened: OpenedRepository | None = None
        self._astray: dict[str, tuple[str, bytes]] = {}

    def mend(self, steps: Steps, beat: Beat) -> None:
        """Go through all kinds that are kept twice."""
        odd = [pair for kind in sorted(WRITTEN_TWICE) for pair in self._odd_pairs(kind, beat)]
        if odd:
            self._settle(_SETTLE_SECONDS)
        store = self._repository.store
        leases = read_leases(store) if odd else {}
        for pair in odd:
            beat()
            # What a session has left half done: if it lives, it may still be at it; if not, a prune completes it.
            if is_half_done(store, pair.kind, pair.name, leases):
                continue
            again = self._look(pair.kind, pair.name)
            if again is not None:
                self._mend_or_tell(again, steps)

    def _mend_or_tell(self, pair: _Pair, steps: Steps) -> None:
        if pair.wrong and pair.whole:
            self._mend_pair(pair, next(iter(pair.whole.items())), steps)
        elif pair.wrong and pair.name in self._astray:
            self._mend_pair(pair, self._astray[pair.name], steps)
        elif pair.kind is ObjectKind.SLOT and generation_of(pair.name) < self._repository.keyring.generation:
            return  # what it opened has ended, and the next prune removes it
        elif pair.wrong and pair.kind is not ObjectKind.INDEX:
            steps.fail(
                "copy", pair.name, f"no copy of it is whole: bring it back from a copy of the repository{_else(pair)}"
            )
        elif len(set(pair.whole.values())) > 1:
            steps.fail("copy", pair.name, "its copies are whole and differ: one was put back from elsewhere")

    def _odd_pairs(self, kind: ObjectKind, beat: Beat) -> list[_Pair]:
        odd: list[_Pair] = []
        for name in self._repository.store.names(kind):
            beat()
            pair = self._look(kind, name)
            if pair is not None and (pair.wrong or len(set(pair.whole.values())) > 1):
                odd.append(pair)
        return odd

    def _look(self, kind: ObjectKind, name: str) -> _Pair | None:
        """Read both copies; None for an object that is gone, or that a retired key sealed and no rotation listed."""
        pair = _Pair(kind, name)
        missing = retired = 0
        for copy in names_of(kind, name):
            try:
                data = get_bounded(self._repository.storage, kind, copy)
                self._open(kind, name, data)
                pair.whole[copy] = data
            except RetiredKeyError:
                retired += 1
                pair.wrong[copy] = "it is sealed by a retired key: it was replaced"
            except ObjectMissingError:
                missing += 1
                pair.wrong[copy] = "it is missing"
            except (IntegrityError, UnsupportedFormatError) as error:
                pair.wrong[copy] = f"it is damaged ({error.message})"
        listed = (kind, object_id_of(name)) in self._repository.store.inventory
        counts = pair.whole or not retired or listed
        return pair if counts and missing < len(names_of(kind, name)) else None

    def _open(self, kind: ObjectKind, name: str, data: bytes) -> None:
        object_id = object_id_of(name) or b""
        if kind is ObjectKind.CONFIG:
            _require(parse_config(data).repository_id == object_id, f"{name} is the config of another repository")
        elif kind is ObjectKind.SLOT:
            self._open_slot(name, data)
        elif kind is ObjectKind.KEYRING:
            self._open_keyring(name, object_id, data)
        else:
            self._repository.store.open(kind, object_id, data)

    def _open_slot(self, name: str, data: bytes) -> None:
        """Raise IntegrityError for the slot of another name, and take note of where that one lies."""
        facts = parse_slot(data).facts
        own = object_name(ObjectKind.SLOT, facts.slot_id, generation_group(facts.generation))
        if own != name:
            self._astray[own] = name, data
        _require(own == name, f"{name} holds another slot")

    def _open_keyring(self, name: str, object_id: bytes, data: bytes) -> None:
        """Raise IntegrityError unless this is a whole keyring of the newest generation.

        One of an earlier generation is sealed by a key that nobody holds any more, and needed by nobody.
        """
        if self._opened is None:
            store = self._repository.store
            # What an inventory names is no matter of the keyring: a dry run goes on where it is lost.
            secret, randomness = self._request.secret, store.randomness
            self._opened = unlock(self._repository.storage, secret, randomness, without_inventory=True)
        generation = self._repository.keyring.generation
        if generation_of(name) != generation:
            raise RetiredKeyError(f"{name} is of an earlier generation")
        key, config_bytes = self._opened.generation_key, self._opened.config_bytes
        repository_id = self._repository.config.repository_id
        open_record(repository_id, lambda _: key, (ObjectKind.KEYRING, object_id), data, config_bytes)

    def _mend_pair(self, pair: _Pair, found: tuple[str, bytes], steps: Steps) -> None:
        source, data = found
        for copy, reason in pair.wrong.items():
            put = partial(self._put, copy, data, source)
            steps.do("copy", copy, f"{reason}; written again from {source}", put)

    def _put(self, copy: str, data: bytes, source: str) -> None:
        storage = self._repository.storage
        storage.put(copy, data, overwrite=True)
        try:
            storage.size(source)
        except ObjectMissingError:
            # Its writer took it back, or a sweep removed it, while we looked: it must not come back by our hand.
            with contextlib.suppress(EngineError):
                storage.delete(copy)


def _else(pair: _Pair) -> str:
    """Return what is left to do where there is no copy of the repository."""
    if pair.kind is not ObjectKind.SLOT:
        return ""
    identity = (object_id_of(pair.name) or b"").hex()[:8]
    return f"; if there is none: syncova-repo key remove LOCATION {identity} --yes, and key add for a new password"


def _require(holds: bool, message: str) -> None:  # noqa: FBT001  (a condition is what it takes)
    if not holds:
        raise IntegrityError(message, hint="run check")
