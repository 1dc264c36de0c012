"""Key slots of the newest generation: listing, adding, changing and removing them.

Owns the order that never leaves a repository without a slot that opens: a new slot is durable, read back and proven to
open before an old one goes. Secrets stay in these functions' arguments.
"""

from dataclasses import dataclass, field

from repositories.engine.errors import (
    ConfigurationError,
    IntegrityError,
    KeysChangedError,
    RepositoryError,
)
from repositories.engine.format.collection import SessionPurpose
from repositories.engine.format.kinds import ObjectKind, generation_group, object_name
from repositories.engine.keychain.keychain import Keychain, changing_keys
from repositories.engine.keys.recovery import SECRET_LENGTH, format_recovery_code, parse_recovery_code
from repositories.engine.keys.slots import Slot, SlotOwner, SlotRole, make_slot, parse_slot, slot_to_bytes
from repositories.engine.limits import MAX_LABEL, MAX_SLOTS
from repositories.engine.objects.key_slots import BadSlot, bad_slots, list_slots
from repositories.engine.objects.pairs import delete_all, list_names, put_all, read_either
from repositories.engine.opening import attempts

RECOVERY_LABEL = "recovery code"
_LEAST_PREFIX = 4


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """A slot as it says itself, in clear: nothing of this is secret, and nothing is proven. `id` is hex."""

    id: str
    role: str
    label: str
    created_ns: int
    generation: int
    in_use: bool

    @property
    def short_id(self) -> str:
        """Return the first 8 characters of the id."""
        return self.id[:8]


@dataclass(frozen=True, slots=True)
class NewRecoveryCode:
    """A new recovery code, to be shown once, and the id of its slot as hex."""

    slot_id: str
    code: str = field(repr=False)


def list_keys(keys: Keychain) -> tuple[list[KeyFacts], int]:
    """Return the slots of the newest generation, oldest first, and how many are damaged or of an unknown type."""
    slots, damaged = slots_of(keys)
    return [facts_of(keys, slot) for slot in slots], damaged


def list_bad_keys(keys: Keychain) -> list[BadSlot]:
    """Return the slots of the newest generation that are damaged or of an unknown type, by id."""
    return bad_slots(keys.storage, keys.opened.config.repository_id, keys.generation)


def add_password(keys: Keychain, secret: bytes, label: str) -> KeyFacts:
    """Add a password; it opens the repository when this returns.

    Raises ConfigurationError (a label that is taken or too long, a password that opens already, too many slots),
    KeysChangedError, RepositoryLockedError, the storage's errors.
    """
    _check_label(label)
    _check_secret(secret)
    with changing_keys(keys, SessionPurpose.KEYS):
        slots = _require_room(keys)
        if label and any(slot.facts.label == label for slot in slots):
            raise ConfigurationError(f"there is a key labelled {label!r} already", hint="give another --label")
        taken = matching_slot(slots, secret)
        if taken is not None:
            raise ConfigurationError(f"this password opens already: {name_of(taken)}", hint="choose another password")
        slot = _put_slot(keys, SlotRole.PASSWORD, label, secret)
        keys.require_newest()
    return facts_of(keys, slot)


def change_password(keys: Keychain, secret: bytes) -> KeyFacts:
    """Give the key that opened this keychain a new password; return the new slot. Errors as for `add_password`.

    Until the old slot is removed, as the last step, both passwords open.
    """
    old = keys.opened.slot
    if old.facts.role != SlotRole.PASSWORD:
        raise ConfigurationError(
            "a recovery code opened the repository; it cannot be changed into a password",
            hint="use key add for a new password, or key recovery-code --replace for a new code",
        )
    _check_secret(secret)
    with changing_keys(keys, SessionPurpose.KEYS):
        slots = _require_room(keys)
        if not any(slot.facts.slot_id == old.facts.slot_id for slot in slots):
            raise KeysChangedError("the key that opened the repository was removed meanwhile", hint="run it again")
        taken = matching_slot(slots, secret)
        if taken is not None:
            raise ConfigurationError(f"this password opens already: {name_of(taken)}", hint="choose another password")
        slot = _put_slot(keys, SlotRole.PASSWORD, old.facts.label, secret)
        keys.require_newest()
        _remove_slot(keys, old)
    return facts_of(keys, slot)


def remove_key(keys: Keychain, wanted: str, *, sure: bool = False) -> KeyFacts | BadSlot:
    """Remove the slot with this label, or with an id that begins so: also one that cannot be read, by its id.

    Raises ConfigurationError for the last one that can be read; unless `sure`, for the one that opened the keychain and
    for one that cannot be read; for none or several that match.
    """
    with changing_keys(keys, SessionPurpose.KEYS):
        slots, damaged = slots_of(keys)
        slot = _find(slots, list_bad_keys(keys) if damaged else [], wanted)
        if isinstance(slot, BadSlot):
            _require_useless(slot, sure=sure)
            _remove_object(keys, slot.name)
            return slot
        facts = facts_of(keys, slot)
        if len(slots) == 1:
            raise ConfigurationError(
                f"{name_of(slot)} is the last key: without it nothing opens the repository", hint="add another first"
            )
        if facts.in_use and not sure:
            raise ConfigurationError(
                f"{name_of(slot)} is the key that opened the repository just now", hint="give --yes to remove it anyway"
            )
        _remove_slot(keys, slot)
    return facts


def add_recovery_code(keys: Keychain) -> NewRecoveryCode:
    """Add a new recovery code; it opens the repository when this returns. Errors as for `add_password`."""
    secret = keys.randomness(SECRET_LENGTH)
    with changing_keys(keys, SessionPurpose.KEYS):
        _require_room(keys)
        slot = _put_slot(keys, SlotRole.RECOVERY_CODE, RECOVERY_LABEL, secret)
        keys.require_newest()
    return NewRecoveryCode(slot.facts.slot_id.hex(), format_recovery_code(secret))


def remove_recovery_codes(keys: Keychain, but: str) -> int:
    """Remove all recovery codes but the one whose slot has the id `but`; return how many there were."""
    with changing_keys(keys, SessionPurpose.KEYS):
        slots, _ = slots_of(keys)
        if not any(slot.facts.slot_id.hex() == but for slot in slots):
            raise KeysChangedError("the new recovery code was removed meanwhile", hint="run it again")
        others = [
            slot for slot in slots if slot.facts.role == SlotRole.RECOVERY_CODE and slot.facts.slot_id.hex() != but
        ]
        for slot in others:
            _remove_slot(keys, slot)
    return len(others)


def slots_of(keys: Keychain) -> tuple[list[Slot], int]:
    """Return the readable slots of the keychain's generation, oldest first, and how many are not."""
    slots, damaged = list_slots(keys.storage, keys.opened.config.repository_id, keys.generation)
    return sorted(slots, key=lambda slot: (slot.facts.created_ns, slot.facts.role, slot.facts.slot_id)), damaged


def matching_slot(slots: list[Slot], secret: bytes) -> Slot | None:
    """Return the slot that opens with this password or recovery code. Takes as long as each slot's Argon2id."""
    for slot, slot_secret in attempts(slots, secret):
        try:
            if slot.open(slot_secret) is not None:
                return slot
        except IntegrityError:
            continue
    return None


def facts_of(keys: Keychain, slot: Slot) -> KeyFacts:
    """Return what a slot says."""
    facts = slot.facts
    role = "recovery_code" if facts.role == SlotRole.RECOVERY_CODE else "password"
    in_use = facts.slot_id == keys.opened.slot.facts.slot_id
    return KeyFacts(facts.slot_id.hex(), role, facts.label, facts.created_ns, facts.generation, in_use)


def name_of(slot: Slot) -> str:
    """Return a slot as messages name it."""
    identity = slot.facts.slot_id.hex()[:8]
    return f"{slot.facts.label!r} ({identity})" if slot.facts.label else f"key {identity}"


def put_proven_slot(keys: Keychain, owner: SlotOwner, secret: bytes, key: bytes) -> Slot:
    """Put a slot, read it back and prove that the secret opens it. Raises the storage's errors, IntegrityError."""
    slot = make_slot(owner, secret, key, keys.kdf, keys.randomness)
    name = object_name(ObjectKind.SLOT, slot.facts.slot_id, generation_group(owner.generation))
    put_all(keys.storage, ObjectKind.SLOT, name, slot_to_bytes(slot))
    stored = read_either(keys.storage, ObjectKind.SLOT, name, parse_slot)
    if stored.open(secret) != key:
        raise IntegrityError(f"{name} does not open what it was made for", hint="check the memory of this machine")
    return slot


def _put_slot(keys: Keychain, role: SlotRole, label: str, secret: bytes) -> Slot:
    repository_id = keys.opened.config.repository_id
    owner = SlotOwner(repository_id, keys.generation, role, label, keys.clock.now_ns())
    return put_proven_slot(keys, owner, secret, keys.opened.generation_key)


def _remove_slot(keys: Keychain, slot: Slot) -> None:
    _remove_object(keys, object_name(ObjectKind.SLOT, slot.facts.slot_id, generation_group(slot.facts.generation)))


def _remove_object(keys: Keychain, name: str) -> None:
    try:
        delete_all(keys.storage, ObjectKind.SLOT, name)
    except RepositoryError:
        # The answer may have been lost on the way.
        if name in list_names(keys.storage, ObjectKind.SLOT):
            raise


def _require_useless(slot: BadSlot, *, sure: bool) -> None:
    """Raise ConfigurationError for a slot that may be of use to somebody yet."""
    if slot.holds_another:
        raise ConfigurationError(
            f"under the name of key {slot.id[:8]} lies another key, which is nowhere else",
            hint="syncova-repo repair puts it where it belongs",
        )
    if not sure:
        state = "is of a type that is not known here" if slot.unknown_type else "cannot be read in any copy"
        raise ConfigurationError(
            f"key {slot.id[:8]} {state}; a copy of the repository may have it whole",
            hint="bring it back from there, or give --yes to remove it for good",
        )


def _find(slots: list[Slot], bad: list[BadSlot], wanted: str) -> Slot | BadSlot:
    if not wanted:
        # The first password has no label: an empty name would mean just that one.
        raise ConfigurationError("the label or id of a key is empty", hint="see syncova-repo key list")
    found: list[Slot | BadSlot] = [slot for slot in slots if slot.facts.label == wanted]
    if not found and len(wanted) >= _LEAST_PREFIX:
        every: list[Slot | BadSlot] = [*slots, *bad]
        found = [slot for slot in every if _id_of(slot).startswith(wanted.lower())]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(_id_of(slot)[:8] for slot in found)
        raise ConfigurationError(f"{len(found)} keys are called {wanted!r}: {ids}", hint="give the id")
    raise ConfigurationError(
        f"no key has the label {wanted!r}, or an id that begins so", hint="see syncova-repo key list"
    )


def _id_of(slot: Slot | BadSlot) -> str:
    return slot.id if isinstance(slot, BadSlot) else slot.facts.slot_id.hex()


def _require_room(keys: Keychain) -> list[Slot]:
    slots, damaged = slots_of(keys)
    if len(slots) + damaged >= MAX_SLOTS:
        raise ConfigurationError(f"the repository has {MAX_SLOTS} keys, the most there can be", hint="remove one first")
    return slots


def _check_secret(secret: bytes) -> None:
    if not secret:
        raise ConfigurationError("a password cannot be empty", hint="choose another password")
    if parse_recovery_code(secret) is not None:
        raise ConfigurationError("this is a recovery code, not a password", hint="choose a password of your own")


def _check_label(label: str) -> None:
    try:
        length = len(label.encode())
    except UnicodeEncodeError:
        raise ConfigurationError("the label is not UTF-8 text", hint="give another --label") from None
    if length > MAX_LABEL:
        raise ConfigurationError("the label is too long", hint=f"use at most {MAX_LABEL} bytes")
