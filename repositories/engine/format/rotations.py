"""The two objects by which a rotation is agreed on: who changes keys, and the keyring that is decided.

Owns the fields only; what they mean is decided in objects/decided.py and sessions/rotations.py.
"""

from repositories.engine.format.clear import unwrap_clear, wrap_clear
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import ObjectId, Record, decode, encode


class KeyChangeRecord(Record, frozen=True):
    """What `keychanges/<id>` seals: a process that changes keys; its lease has the same id. Put once.

    `purpose` is the lease's; the holder's fields are those of a lease.
    """

    purpose: int
    generation: int
    boot_id: bytes
    pid_namespace: int
    pid: int
    process_start: int
    host: str
    started_ns: int


class IntentRecord(Record, frozen=True):
    """What `intents/<generation>/<id>` says in clear: the bytes of the keyring object of this generation and id."""

    generation: int
    keyring_id: ObjectId
    keyring: bytes


def intent_to_bytes(record: IntentRecord) -> bytes:
    """Return the object bytes of an intent."""
    return wrap_clear(ObjectKind.INTENT, encode(record))


def parse_intent(data: bytes) -> IntentRecord:
    """Parse an intent. Raises IntegrityError when damaged, UnsupportedFormatError when newer."""
    return decode(unwrap_clear(ObjectKind.INTENT, data), IntentRecord)
