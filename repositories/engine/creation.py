"""Making a repository: slots, keyring, config, and the creation race.

Owns the order of the first objects. Rests on no conditional write: whoever sees another's config after putting its own
withdraws.
"""

import contextlib

import msgspec

from repositories.engine.clock import SYSTEM_CLOCK, Clock
from repositories.engine.codec.envelopes import SealingKey, new_header, seal_record
from repositories.engine.errors import ConfigurationError, EngineError, RepositoryError, RepositoryExistsError
from repositories.engine.format.config import FORMAT, Config, config_to_bytes
from repositories.engine.format.kinds import RESERVE_NAME, ObjectKind, generation_group, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import Randomness, new_object_id, system_randomness
from repositories.engine.index.segments import SegmentRecord
from repositories.engine.keys.kdf import KdfParameters
from repositories.engine.keys.keyring import (
    KEY_LENGTH,
    Keyring,
    KeyringRecord,
    new_keyring_record,
    open_keyring,
    related_record,
)
from repositories.engine.keys.recovery import SECRET_LENGTH, format_recovery_code
from repositories.engine.keys.slots import SlotOwner, SlotRole, make_slot, slot_to_bytes
from repositories.engine.limits import MAX_LABEL, MIB
from repositories.engine.objects.absent import lies_here
from repositories.engine.objects.pairs import delete_all, list_names, put_all
from repositories.engine.objects.store import ObjectStore
from repositories.engine.storage.base import Storage


class CreateOptions(msgspec.Struct, frozen=True):
    """How to make a repository. An empty password needs `insecure_no_password`: it is published knowledge.

    `reserve_bytes` is the room that only deletion may spend; `kdf` None means the default costs. `related_to` is the
    keyring of a repository whose chunks shall have the same ids here, so that copies need not be stored anew.
    """

    password: bytes
    label: str = ""
    insecure_no_password: bool = False
    padding: bool = False
    kdf: KdfParameters | None = None
    reserve_bytes: int = 4 * MIB
    randomness: Randomness = system_randomness
    clock: Clock = SYSTEM_CLOCK
    related_to: Keyring | None = None

    def __repr__(self) -> str:
        return f"CreateOptions(label={self.label!r}, padding={self.padding})"


class NewRepository(msgspec.Struct, frozen=True):
    """What creation leaves: the opened store, the config, and the recovery code to be shown once."""

    store: ObjectStore
    config: Config
    recovery_code: str

    def __repr__(self) -> str:
        return f"NewRepository(config={self.config!r})"


def make_repository(storage: Storage, options: CreateOptions) -> NewRepository:
    """Make a repository on `storage`. Raises RepositoryExistsError if one is there or wins the race.

    After any error nothing that we put is left, as far as the medium allows.
    """
    _check_options(options)
    storage.prepare()
    _refuse_existing(storage)
    put: list[tuple[ObjectKind, str]] = []
    try:
        return _put_everything(storage, options, put)
    except EngineError:
        for kind, name in reversed(put):
            with contextlib.suppress(RepositoryError):
                delete_all(storage, kind, name)
        raise


def _put_everything(storage: Storage, options: CreateOptions, put: list[tuple[ObjectKind, str]]) -> NewRepository:
    def keep(kind: ObjectKind, object_id: bytes, data: bytes, group: str = "") -> None:
        name = object_name(kind, object_id, group)
        put.append((kind, name))
        put_all(storage, kind, name, data)

    randomness, now_ns = options.randomness, options.clock.now_ns()
    config = Config(FORMAT, new_object_id(randomness), now_ns)
    config_bytes = config_to_bytes(config)
    record = new_keyring_record(config.repository_id, now_ns, randomness, padding=options.padding)
    if options.related_to is not None:
        record = related_record(record, options.related_to)
    group = generation_group(record.generation)
    key, recovery = randomness(KEY_LENGTH), randomness(SECRET_LENGTH)
    for role, label, secret in (
        (SlotRole.PASSWORD, options.label, options.password),
        (SlotRole.RECOVERY_CODE, "recovery code", recovery),
    ):
        owner = SlotOwner(config.repository_id, record.generation, role, label, now_ns)
        slot = make_slot(owner, secret, key, options.kdf or KdfParameters(), randomness)
        keep(ObjectKind.SLOT, slot.facts.slot_id, slot_to_bytes(slot), group)
    keyring_id = new_object_id(randomness)
    keep(ObjectKind.KEYRING, keyring_id, seal_keyring(record, key, keyring_id, config_bytes, randomness), group)
    keep(ObjectKind.CONFIG, config.repository_id, config_bytes)
    _win_or_withdraw(storage, config)
    store = ObjectStore(storage, config.repository_id, open_keyring(record), randomness)
    # The first object under the new keys: of two configs, the one with such an object is the one that was made.
    first = SegmentRecord(0, bytes(16), now_ns, (), ())
    put.append((ObjectKind.INDEX, object_name(ObjectKind.INDEX, store.put(ObjectKind.INDEX, encode(first)))))
    if options.reserve_bytes:
        storage.put(RESERVE_NAME, randomness(options.reserve_bytes))
    return NewRepository(store, config, format_recovery_code(recovery))


def seal_keyring(
    record: KeyringRecord, key: bytes, keyring_id: bytes, config_bytes: bytes, randomness: Randomness
) -> bytes:
    """Return the object bytes of a keyring: sealed by its generation's key, bound to the config."""
    header = new_header(ObjectKind.KEYRING, keyring_id, record.generation, randomness)
    sealing = SealingKey(record.repository_id, record.generation, key, record.padding)
    return seal_record(sealing, header, encode(record), config_bytes)


def _check_options(options: CreateOptions) -> None:
    if not options.password and not options.insecure_no_password:
        raise ConfigurationError(
            "a repository needs a password", hint="give one, or accept that anyone can read it: --insecure-no-password"
        )
    if len(options.label.encode()) > MAX_LABEL:
        raise ConfigurationError("the label is too long", hint=f"use at most {MAX_LABEL} bytes")


def _refuse_existing(storage: Storage) -> None:
    if any(True for _ in list_names(storage, ObjectKind.CONFIG)):
        raise RepositoryExistsError("there is a repository already", hint="use it, or choose another place")
    if lies_here(storage):
        raise RepositoryExistsError(
            "there is a repository already, whose config is gone",
            hint="bring its config back from a copy of the repository, or choose another place",
        )


def _win_or_withdraw(storage: Storage, config: Config) -> None:
    """Raise if another config is there now: at most one of two racing creators goes on."""
    mine = object_name(ObjectKind.CONFIG, config.repository_id)
    if any(name != mine for name in list_names(storage, ObjectKind.CONFIG)):
        raise RepositoryExistsError(
            "another program was making a repository here at the same time; this one withdrew",
            hint="open the other one, or try again",
        )
