"""Opening a repository: config, slot, keyring, features, inventory.

Owns the way from a secret to an opened store. Everything on the medium is hostile until it authenticates.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from repositories.engine.codec.envelopes import open_record
from repositories.engine.errors import (
    EngineError,
    IntegrityError,
    InventoryLostError,
    KeyringLostError,
    ObjectMissingError,
    RepositoryError,
    StorageUnreachableError,
    UnsupportedFormatError,
    WrongKeyError,
)
from repositories.engine.format.config import Config, parse_config, unknown_write_features
from repositories.engine.format.kinds import (
    ObjectKind,
    generation_group,
    newest_generation,
    object_id_of,
    object_name,
)
from repositories.engine.format.records import decode
from repositories.engine.ids import Randomness
from repositories.engine.keys.keyring import Keyring, KeyringRecord, open_keyring
from repositories.engine.keys.recovery import parse_recovery_code
from repositories.engine.keys.slots import Slot, SlotRole
from repositories.engine.objects.absent import nothing_there
from repositories.engine.objects.decided import finish_decided
from repositories.engine.objects.first_looks import FirstLooks
from repositories.engine.objects.inventoried import with_inventory
from repositories.engine.objects.key_slots import list_slots
from repositories.engine.objects.pairs import list_names, read_either
from repositories.engine.objects.side_by_side import side_by_side
from repositories.engine.objects.store import ObjectStore
from repositories.engine.objects.unopened import FROM_A_COPY, place_of, require_no_later, wrong_key_hint
from repositories.engine.storage.base import Storage

_DAMAGED = (ObjectMissingError, IntegrityError, UnsupportedFormatError)
_Configured = tuple[bytes, Config]


@dataclass(frozen=True, slots=True)
class OpenedRepository:
    """What opening yields. `unknown_write_features` not empty: read only."""

    store: ObjectStore
    config: Config
    config_bytes: bytes
    slot: Slot
    generation_key: bytes = field(repr=False)
    unknown_write_features: tuple[str, ...]
    inventory_lost: InventoryLostError | None = None


def unlock(
    storage: Storage, secret: bytes, randomness: Randomness, *, without_inventory: bool = False
) -> OpenedRepository:
    """Open with a password or recovery code.

    Raises RepositoryNotFoundError, WrongKeyError, UnsupportedFormatError, IntegrityError; InventoryLostError unless
    `without_inventory`: then nothing from before the last rotation counts, and nobody may write.
    """
    if storage.reads_at_once > 1:
        ahead = FirstLooks(storage)
        with _unless_unreachable():
            opened = _unlock(ahead, secret, randomness) if ahead.are_taken() else None
            if opened is not None and opened.inventory_lost is None:
                return replace(opened, store=replace(opened.store, storage=storage))
    return _with_inventory(_unlock(storage, secret, randomness), needed=not without_inventory)


@contextlib.contextmanager
def _unless_unreachable() -> Iterator[None]:
    """Let errors pass for which all is looked at again; a medium that did not answer was asked often enough."""
    try:
        yield
    except StorageUnreachableError:
        raise
    except EngineError:
        return


def _unlock(storage: Storage, secret: bytes, randomness: Randomness) -> OpenedRepository:
    names = list(list_names(storage, ObjectKind.CONFIG))
    if not names:
        raise nothing_there(storage)
    opened: list[OpenedRepository] = []
    failure: EngineError | None = None
    for configured in _read_configs(storage, names):
        try:
            if isinstance(configured, EngineError):
                raise configured
            opened.append(_unlock_config(storage, configured, secret, randomness))
        except (WrongKeyError, *_DAMAGED) as error:
            # A creator that died in a race has left no slot perhaps: what the true one says is more to the point.
            failure = error if isinstance(error, WrongKeyError) else failure or error
    if not opened and isinstance(failure, IntegrityError) and not isinstance(failure, KeyringLostError):
        # A check could not open it either.
        raise type(failure)(failure.message, hint=FROM_A_COPY) from failure
    if not opened:
        raise failure or WrongKeyError("no key slot opens", hint="check the password")
    return opened[0] if len(opened) == 1 else _really_made(opened)


def _with_inventory(opened: OpenedRepository, *, needed: bool) -> OpenedRepository:
    if opened.inventory_lost is not None and needed:
        raise opened.inventory_lost
    return opened


def _read_configs(storage: Storage, names: list[str]) -> list[_Configured | EngineError]:
    """Return the configs, or why one cannot be read; meanwhile finish a rotation, which concerns none of them."""

    def read(name: str) -> _Configured | EngineError:
        try:
            return read_either(storage, ObjectKind.CONFIG, name, partial(_parse_config_of, name))
        except _DAMAGED as error:
            return error

    looks: list[Callable[[], _Configured | EngineError | None]]
    looks = [partial(_finish_decided, storage), *(partial(read, name) for name in names)]
    found = list(side_by_side(lambda look: look(), looks, storage.reads_at_once))
    return [each for each in found if each is not None]


def _finish_decided(storage: Storage) -> None:
    """Do what is left of a rotation that died after it was decided; a medium that is read only shows what it holds."""
    with contextlib.suppress(RepositoryError):
        finish_decided(storage)


def _unlock_config(
    storage: Storage, configured: _Configured, secret: bytes, randomness: Randomness
) -> OpenedRepository:
    config_bytes, config = configured
    unknown_write_features(config.read_features, config.write_features)
    keyrings = list(list_names(storage, ObjectKind.KEYRING))
    if not newest_generation(keyrings):
        raise IntegrityError(f"no keyring is left in {place_of(storage, 'keyrings')}", hint=FROM_A_COPY)
    slot, key, keyring = _open_keys(storage, configured, keyrings, secret)
    record = keyring.record
    unknown = unknown_write_features(
        config.read_features + record.read_features, config.write_features + record.write_features
    )
    store = ObjectStore(storage, config.repository_id, keyring, randomness)
    store, lost = with_inventory(store)
    return OpenedRepository(store, config, config_bytes, slot, key, unknown, lost)


def _parse_config_of(name: str, data: bytes) -> tuple[bytes, Config]:
    """Parse the config of this name; another repository's in its place is damage, so that the second copy is read."""
    config = parse_config(data)
    if object_id_of(name) != config.repository_id:
        raise IntegrityError(f"{name} is the config of another repository", hint="run check")
    return data, config


def _open_keys(
    storage: Storage, configured: _Configured, keyrings: list[str], secret: bytes
) -> tuple[Slot, bytes, Keyring]:
    """Return slot, generation key and keyring (one of `keyrings`). A slot that opens another one's key is passed over.

    A rotation that died in the same moment as another one went on may have left such a slot.
    """
    generation = newest_generation(keyrings)
    slots, damaged = list_slots(storage, configured[1].repository_id, generation)
    if not slots:
        require_no_later(storage, generation)
        where = place_of(storage, f"slots/{generation_group(generation)}")
        state = f"all {damaged} key slots are damaged" if damaged else "no key slot is left"
        raise IntegrityError(f"{state} in {where}", hint=FROM_A_COPY)
    failure: EngineError | None = None
    for slot, slot_secret in attempts(slots, secret):
        try:
            key = slot.open(slot_secret)
        except IntegrityError:
            damaged += 1
            continue
        try:
            if key is not None:
                return slot, key, _open_keyring(storage, configured, keyrings, key)
        except _DAMAGED as error:
            failure = failure or error
    if failure is not None:
        raise failure
    of = f" of {storage.place}" if storage.place else ""
    hint = wrong_key_hint(slots, damaged, secret)
    raise WrongKeyError(f"no key slot{of} opens with this password or recovery code", hint=hint)


def attempts(slots: list[Slot], secret: bytes) -> Iterator[tuple[Slot, bytes]]:
    """Yield slots to try: the recovery slots only for what has a recovery code's form, and then first.

    Cheap slots come before dear ones, so that a hostile slot cannot delay the true one.
    """
    by_cost = sorted(slots, key=lambda slot: slot.facts.memory_kib * slot.facts.iterations)
    code = parse_recovery_code(secret)
    if code is not None:
        yield from ((slot, code) for slot in by_cost if slot.facts.role == SlotRole.RECOVERY_CODE)
    yield from ((slot, secret) for slot in by_cost if slot.facts.role == SlotRole.PASSWORD)


def _open_keyring(storage: Storage, configured: _Configured, keyrings: list[str], key: bytes) -> Keyring:
    config_bytes, config = configured
    generation = newest_generation(keyrings)
    failure: EngineError | None = None
    group = generation_group(generation)
    for name in keyrings:
        keyring_id = object_id_of(name)
        if keyring_id is None or name != object_name(ObjectKind.KEYRING, keyring_id, group):
            continue

        def parse(data: bytes, keyring_id: bytes = keyring_id) -> KeyringRecord:
            identity = (ObjectKind.KEYRING, keyring_id)
            payload = open_record(config.repository_id, lambda _: key, identity, data, config_bytes)
            return decode(payload, KeyringRecord)

        try:
            record = read_either(storage, ObjectKind.KEYRING, name, parse)
        except _DAMAGED as error:
            failure = error
            continue
        if record.generation == generation and record.repository_id == config.repository_id:
            return open_keyring(record)
    if failure is not None:
        raise failure
    where = place_of(storage, f"keyrings/{group}")
    raise IntegrityError(f"the keyring of this repository is missing in {where}", hint=FROM_A_COPY)


def _really_made(opened: list[OpenedRepository]) -> OpenedRepository:
    """Choose between configs that the same secret opens: a creator died in a race before it could withdraw.

    The one that was made has an index segment under its keys. Raises IntegrityError if that does not decide.
    """
    made = [
        each for each in opened if any(_opens(each.store, index_id) for index_id in each.store.ids(ObjectKind.INDEX))
    ]
    if len(made) == 1:
        return made[0]
    if not made:
        return opened[0]
    names = ", ".join(object_name(ObjectKind.CONFIG, each.config.repository_id) for each in made)
    raise IntegrityError(f"two repositories lie in one place: {names}", hint="move one of them away")


def _opens(store: ObjectStore, index_id: bytes) -> bool:
    try:
        store.read(ObjectKind.INDEX, index_id)
    except _DAMAGED:
        return False
    return True
