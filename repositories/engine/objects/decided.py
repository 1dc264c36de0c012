"""Finishing a rotation that is decided: its keyring is put by whoever comes by.

Owns the rule when a keyring is decided: its intent is whole, and the announcement of the same id was there after it.
From then on every writer of the earlier generation sees one or the other, so that finishing is never too late. Nobody
removes an intent before its generation, or a later one, has a keyring. Needs no key.
"""

import contextlib

from repositories.engine.errors import (
    IntegrityError,
    ObjectExistsError,
    ObjectMissingError,
    RepositoryError,
    UnsupportedFormatError,
)
from repositories.engine.format.kinds import (
    ObjectKind,
    generation_group,
    names_of,
    newest_generation,
    object_name,
)
from repositories.engine.format.rotations import IntentRecord, parse_intent
from repositories.engine.objects.pairs import delete_all, list_names, read_either
from repositories.engine.storage.base import Storage

_TORN = (ObjectMissingError, IntegrityError, UnsupportedFormatError)


def read_intents(storage: Storage) -> list[IntentRecord]:
    """Return the whole intents on the medium; one that was torn when it was put decides nothing."""
    found: list[IntentRecord] = []
    for name in list_names(storage, ObjectKind.INTENT):
        with contextlib.suppress(*_TORN):
            record = read_either(storage, ObjectKind.INTENT, name, parse_intent)
            if name == intent_name(record):
                found.append(record)
    return found


def intent_name(record: IntentRecord) -> str:
    """Return where an intent lies."""
    return object_name(ObjectKind.INTENT, record.keyring_id, generation_group(record.generation))


def newest_keyring(storage: Storage) -> int:
    """Return the highest generation that has a keyring, 0 without any."""
    return newest_generation(list(list_names(storage, ObjectKind.KEYRING)))


def finish_decided(storage: Storage) -> None:
    """Put the keyrings that are decided and not there yet, and clear away what led to them. Raises storage errors."""
    for record in read_intents(storage):
        name = object_name(ObjectKind.KEYRING, record.keyring_id, generation_group(record.generation))
        keyrings = list(list_names(storage, ObjectKind.KEYRING))
        if newest_generation(keyrings) > record.generation:
            _clear_away(storage, record)
        elif name in keyrings or is_announced(storage, record.keyring_id):
            put_decided(storage, record)


def put_decided(storage: Storage, record: IntentRecord) -> None:
    """Put the keyring of a decided intent under both names, then remove intent and announcement.

    A copy that was torn when another process died over it is put again. Raises the storage's errors; whoever comes by
    next goes on then.
    """
    name = object_name(ObjectKind.KEYRING, record.keyring_id, generation_group(record.generation))
    for each in names_of(ObjectKind.KEYRING, name):
        put_surely(storage, each, record.keyring)
    _clear_away(storage, record)


def put_surely(storage: Storage, name: str, data: bytes) -> None:
    """Put bytes that several processes may put, or that are there torn; a lost answer is settled by reading back."""
    try:
        storage.put(name, data)
    except ObjectExistsError:
        if storage.get(name) != data:
            storage.put(name, data, overwrite=True)
    except RepositoryError:
        if not is_stored(storage, name, data):
            raise


def is_stored(storage: Storage, name: str, data: bytes) -> bool:
    """Tell whether an object is there with these bytes; raises what the medium says but for its absence."""
    try:
        return storage.get(name) == data
    except ObjectMissingError:
        return False


def is_announced(storage: Storage, keyring_id: bytes) -> bool:
    """Tell whether the announcement of this rotation is on the medium."""
    try:
        return storage.size(object_name(ObjectKind.KEY_CHANGE, keyring_id)) > 0
    except ObjectMissingError:
        return False


def _clear_away(storage: Storage, record: IntentRecord) -> None:
    # What cannot be removed now is harmless: its generation has a keyring, and the next one tries again.
    with contextlib.suppress(RepositoryError):
        delete_all(storage, ObjectKind.INTENT, intent_name(record))
        delete_all(storage, ObjectKind.KEY_CHANGE, object_name(ObjectKind.KEY_CHANGE, record.keyring_id))
