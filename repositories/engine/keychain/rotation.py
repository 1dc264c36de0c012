"""Rotation: new keys for all that is written from now on, and an inventory of what counts from before.

Owns the steps (docs/repository-format.md, section 5): announcement, list, slots, inventory, intent, a look at the
announcement, keyring. Before the intent nothing has happened and everything is taken back after an error; from the look
on the rotation is decided, and whoever opens the repository finishes it.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import blake3
import msgspec

from repositories.engine.codec.envelopes import seal_record
from repositories.engine.creation import seal_keyring
from repositories.engine.errors import (
    ConfigurationError,
    EngineError,
    IntegrityError,
    KeysChangedError,
    RepositoryError,
)
from repositories.engine.format.collection import SessionPurpose
from repositories.engine.format.kinds import ObjectKind, generation_group, newest_generation, object_name
from repositories.engine.format.rotations import IntentRecord, intent_to_bytes
from repositories.engine.keychain.inventory import Gathered, encode_inventory, gather_inventory, open_sessions
from repositories.engine.keychain.keychain import Announcement, Keychain, changing_keys
from repositories.engine.keychain.passwords import KeyFacts, facts_of, matching_slot, put_proven_slot, slots_of
from repositories.engine.keys.keyring import KEY_LENGTH, EpochKey, KeyringRecord, open_keyring
from repositories.engine.keys.recovery import parse_recovery_code
from repositories.engine.keys.slots import Slot, SlotOwner, SlotRole
from repositories.engine.objects.answers import may_be_done
from repositories.engine.objects.decided import intent_name, put_decided, put_surely
from repositories.engine.objects.pairs import delete_all, get_bounded, list_names, put_all
from repositories.engine.objects.store import ObjectStore


@dataclass(frozen=True, slots=True)
class RotationPlan:
    """Which keys stay and which end, as the medium shows them now."""

    kept: tuple[KeyFacts, ...]
    ending: tuple[KeyFacts, ...]
    secrets: tuple[tuple[Slot, bytes], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class RotationResult:
    """What a rotation did. `kept` have the ids of their new slots, `ended` those that they had.

    `unreadable` names objects that could not be read, and so are not in the inventory.
    """

    generation: int
    kept: tuple[KeyFacts, ...]
    ended: tuple[KeyFacts, ...]
    inventoried: int
    unreadable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A generation that is being made: the id of its announcement and keyring, and what has been put of it."""

    generation: int
    announced: bytes
    slots: list[Slot]
    put: list[tuple[ObjectKind, str]]


def plan_rotation(keys: Keychain, keep: Sequence[bytes]) -> RotationPlan:
    """Find the slots of the passwords that shall stay. Changes nothing.

    Raises ConfigurationError if there are none, or one opens nothing: a typing error must not end a password.
    """
    slots, _ = slots_of(keys)
    kept: dict[bytes, tuple[Slot, bytes]] = {}
    for number, secret in enumerate(keep, start=1):
        slot = matching_slot(slots, secret)
        if slot is None:
            raise ConfigurationError(
                f"password {number} of those to keep opens no key of this repository; nothing was changed",
                hint="add it first, or correct the file",
            )
        kept[slot.facts.slot_id] = (slot, secret)
    if not kept:
        raise ConfigurationError("no password would be left", hint="name at least one to keep")
    ending = tuple(facts_of(keys, slot) for slot in slots if slot.facts.slot_id not in kept)
    pairs = tuple(kept.values())
    return RotationPlan(tuple(facts_of(keys, slot) for slot, _ in pairs), ending, pairs)


def rotate(keys: Keychain, keep: Sequence[bytes]) -> RotationResult:
    """Rotate the keys; when this returns, only the kept passwords open the repository.

    Raises ConfigurationError, RepositoryLockedError, KeysChangedError, the storage's errors. After an error the keys
    are as before, unless the message says that the rotation is decided: it is done then at the next opening.
    """
    with changing_keys(keys, SessionPurpose.ROTATE) as announcement:
        # Read under the announcement: keys that were added a moment ago would end without having been named.
        plan = plan_rotation(keys, keep)
        draft = _Draft(_next_generation(keys), announcement.id, [], [])
        try:
            gathered = gather_inventory(keys.store)
            record = _make(keys, plan, draft, gathered)
            _require_alive(announcement)
        except EngineError:
            _take_back(keys, draft)
            raise
        _put_intent(keys, announcement, draft, record)
        _decide(keys, announcement, record)
    _remove_old_slots(keys, draft.generation)
    kept = tuple(
        replace(facts_of(keys, slot), in_use=before.in_use) for slot, before in zip(draft.slots, plan.kept, strict=True)
    )
    return RotationResult(draft.generation, kept, plan.ending, len(gathered.entries), gathered.unreadable)


def next_keyring(
    record: KeyringRecord, generation: int, epoch_key: bytes, now_ns: int, inventory: tuple[bytes, bytes]
) -> KeyringRecord:
    """Return the keyring of a new generation: a new epoch of the same number, life-long secrets as they are."""
    return msgspec.structs.replace(
        record,
        generation=generation,
        created_ns=now_ns,
        epochs=(*record.epochs, EpochKey(generation, epoch_key, now_ns)),
        current_epoch=generation,
        inventory_id=inventory[0],
        inventory_hash=inventory[1],
    )


def _next_generation(keys: Keychain) -> int:
    """Return a number that no keyring, slot or intent has: what a broken-off rotation left must not mix with ours."""
    used = [
        newest_generation(list(list_names(keys.storage, kind)))
        for kind in (ObjectKind.KEYRING, ObjectKind.SLOT, ObjectKind.INTENT)
    ]
    generation = max(keys.generation, *used) + 1
    if generation >= 2**32:
        raise RepositoryError("no generation is left", hint="an object with an impossible name lies on the medium")
    return generation


def _make(keys: Keychain, plan: RotationPlan, draft: _Draft, gathered: Gathered) -> IntentRecord:
    """Put slots and inventory of the new generation; return the intent, which is not put yet."""
    randomness, now_ns = keys.randomness, keys.clock.now_ns()
    key, epoch_key = randomness(KEY_LENGTH), randomness(KEY_LENGTH)
    repository_id = keys.opened.config.repository_id
    for slot, secret in plan.secrets:
        role = SlotRole(slot.facts.role)
        owner = SlotOwner(repository_id, draft.generation, role, slot.facts.label, slot.facts.created_ns)
        own_secret = parse_recovery_code(secret) if role is SlotRole.RECOVERY_CODE else secret
        made = put_proven_slot(keys, owner, own_secret or b"", key)
        draft.slots.append(made)
        draft.put.append(
            (ObjectKind.SLOT, object_name(ObjectKind.SLOT, made.facts.slot_id, generation_group(draft.generation)))
        )
    inventory_id = keys.store.new_id()
    bare = next_keyring(keys.store.keyring.record, draft.generation, epoch_key, now_ns, (inventory_id, bytes(32)))
    data = _put_inventory(keys, draft, bare, gathered)
    record = msgspec.structs.replace(bare, inventory_hash=blake3.blake3(data).digest())
    sealed = seal_keyring(record, key, draft.announced, keys.opened.config_bytes, randomness)
    return IntentRecord(draft.generation, draft.announced, sealed)


def _put_inventory(keys: Keychain, draft: _Draft, record: KeyringRecord, gathered: Gathered) -> bytes:
    """Put the inventory under the new epoch's key, read it back, return its bytes."""
    store = ObjectStore(keys.storage, record.repository_id, open_keyring(record), keys.randomness)
    inventory_id = record.inventory_id or b""
    header = store.header_for(ObjectKind.INVENTORY, inventory_id)
    sessions = open_sessions(keys.store, draft.announced)
    data = seal_record(store.sealing_key(), header, encode_inventory(draft.generation, gathered, sessions))
    name = object_name(ObjectKind.INVENTORY, inventory_id)
    draft.put.append((ObjectKind.INVENTORY, name))
    put_all(keys.storage, ObjectKind.INVENTORY, name, data)
    if get_bounded(keys.storage, ObjectKind.INVENTORY, name) != data:
        raise IntegrityError(f"{name} was not stored as it was written", hint="check the medium")
    return data


def _require_alive(announcement: Announcement) -> None:
    if not announcement.is_there():
        raise KeysChangedError(
            "this rotation stood still for so long that others took it for dead; nothing was changed",
            hint="run it again",
        )


def _put_intent(keys: Keychain, announcement: Announcement, draft: _Draft, record: IntentRecord) -> None:
    """Put the intent; a lost answer is settled by reading back.

    An intent whose announcement is gone decides nothing and makes writers wait. So the announcement stays from here on,
    also when a signal ends this process. Where it is not known whether the intent is there, or comes yet, all that was
    put stays: another process may be about to put the keyring, and then the slots must be there that open it.
    """
    announcement.leave()
    try:
        put_surely(keys.storage, intent_name(record), intent_to_bytes(record))
    except RepositoryError as error:
        if may_be_done(error):
            announcement.leave(failure=error)
        else:
            announcement.leave(left=False)
            _take_back(keys, draft)
        raise


def _decide(keys: Keychain, announcement: Announcement, record: IntentRecord) -> None:
    """Put the keyring, if nobody has taken this process for dead before the intent was there.

    The intent stays in any case: another process may have seen both, and be about to put the keyring.
    """
    try:
        announced = announcement.is_there()
        if announced:
            put_decided(keys.storage, record)
    except RepositoryError as error:
        raise type(error)(
            f"{error.message}; the rotation is decided: the next command that opens the repository finishes it",
            hint="open it with a password that was kept, as soon as the medium can be written to",
        ) from error
    if not announced:
        raise KeysChangedError(
            "this rotation stood still for so long that others took it for dead; it is undecided, and backups wait",
            hint="run key rotate again, at once",
        )


def _take_back(keys: Keychain, draft: _Draft) -> None:
    for kind, name in reversed(draft.put):
        with contextlib.suppress(RepositoryError):
            delete_all(keys.storage, kind, name)


def _remove_old_slots(keys: Keychain, generation: int) -> None:
    """Remove the slots of earlier generations: nothing on the medium shall open an earlier keyring any more.

    What cannot be removed does no harm: only the newest generation is opened.
    """
    newest = generation_group(generation)
    for name in list_names(keys.storage, ObjectKind.SLOT):
        if name.split("/")[1] < newest:
            with contextlib.suppress(RepositoryError):
                delete_all(keys.storage, ObjectKind.SLOT, name)
