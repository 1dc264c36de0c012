"""Object kinds, part kinds, and the names of objects on the medium.

Owns the numbers written into headers and the directory of each kind. Numbers are never given to another kind.
"""

import enum
import re
from collections.abc import Mapping
from typing import Final

from repositories.engine.ids import OBJECT_ID_LENGTH
from repositories.engine.limits import KIB, MAX_CLEAR_OBJECT, MAX_PACK, MAX_RECORD, MAX_SEGMENT

COPIES = "copies/"
RESERVE_NAME = "reserve"


class ObjectKind(enum.IntEnum):
    """Kind of an object: bound into its key and its name."""

    CONFIG = 1
    KEYRING = 2
    SLOT = 3
    PACK = 4
    INDEX = 5
    MANIFEST = 6
    CHECKPOINT = 7
    ANNOTATION = 8
    TOMBSTONE = 9
    SESSION = 10
    MARK = 11
    SWEEP = 12
    CONTROLLER = 13
    VERIFIED = 14
    DAMAGE = 15
    INVENTORY = 16
    KEY_CHANGE = 17
    INTENT = 18


class PartKind(enum.IntEnum):
    """Kind of a sealed part: bound into its associated data."""

    RECORD = 1
    BLOCK = 2
    DIRECTORY = 3
    SECTION = 4


DIRECTORIES: dict[ObjectKind, str] = {
    ObjectKind.CONFIG: "config",
    ObjectKind.KEYRING: "keyrings",
    ObjectKind.SLOT: "slots",
    ObjectKind.PACK: "packs",
    ObjectKind.INDEX: "index",
    ObjectKind.MANIFEST: "manifests",
    ObjectKind.CHECKPOINT: "checkpoints",
    ObjectKind.ANNOTATION: "annotations",
    ObjectKind.TOMBSTONE: "tombstones",
    ObjectKind.SESSION: "sessions",
    ObjectKind.MARK: "marks",
    ObjectKind.SWEEP: "sweeps",
    ObjectKind.CONTROLLER: "controllers",
    ObjectKind.VERIFIED: "verified",
    ObjectKind.DAMAGE: "damage",
    ObjectKind.INVENTORY: "inventories",
    ObjectKind.KEY_CHANGE: "keychanges",
    ObjectKind.INTENT: "intents",
}

WRITTEN_TWICE = frozenset(
    {
        ObjectKind.CONFIG,
        ObjectKind.KEYRING,
        ObjectKind.SLOT,
        ObjectKind.INDEX,
        ObjectKind.MANIFEST,
        ObjectKind.SWEEP,
        ObjectKind.INVENTORY,
    }
)


_CLEAR = frozenset({ObjectKind.CONFIG, ObjectKind.SLOT, ObjectKind.INTENT})
_MOST_OF_RECORD = {ObjectKind.INDEX: MAX_SEGMENT, ObjectKind.INVENTORY: MAX_SEGMENT}


def most_bytes(kind: ObjectKind) -> int:
    """Return how many bytes an object of a kind can have on the medium."""
    if kind is ObjectKind.PACK:
        return MAX_PACK
    if kind in _CLEAR:
        return MAX_CLEAR_OBJECT
    record = most_record(kind)
    return record + record // 8 + KIB  # padding adds at most an eighth


def most_record(kind: ObjectKind) -> int:
    """Return how many bytes the decoded record of a sealed object can have."""
    return _MOST_OF_RECORD.get(kind, MAX_RECORD)


def object_name(kind: ObjectKind, object_id: bytes, group: str = "") -> str:
    """Return the name of an object; `group` is the generation of keyrings and slots, or the controller's id."""
    digits = object_id.hex()
    directory = DIRECTORIES[kind]
    if kind is ObjectKind.PACK:
        return f"{directory}/{digits[:2]}/{digits}"
    return f"{directory}/{group}/{digits}" if group else f"{directory}/{digits}"


def names_of(kind: ObjectKind, name: str) -> tuple[str, ...]:
    """Return the names under which the object `name` is kept: two for the kinds that are written twice."""
    return (name, COPIES + name) if kind in WRITTEN_TWICE else (name,)


def object_id_of(name: str) -> bytes | None:
    """Return the object id that ends `name`, or None for a name that is not one of ours."""
    digits = name.rpartition("/")[2]
    return bytes.fromhex(digits) if _WHOLE_ID.fullmatch(digits) else None


def sizes_by_id(sizes: Mapping[str, int]) -> dict[bytes, int]:
    """Return by id what is given by the last parts of names; those that are not of ours are left out."""
    # One look at all of them: names hold no slash, so that none passes for two.
    if _WHOLE_IDS.fullmatch("/".join(sizes)):
        return dict(zip(map(bytes.fromhex, sizes), sizes.values(), strict=True))
    return {bytes.fromhex(name): size for name, size in sizes.items() if _WHOLE_ID.fullmatch(name)}


def is_name_of(kind: ObjectKind, name: str) -> bool:
    """Tell whether `name` can be the primary name of an object of this kind: whatever else lies beside is a stray."""
    return _NAMES[kind].fullmatch(name) is not None


def generation_group(generation: int) -> str:
    """Return a generation as it is written in names: eight hex digits, so that text order is number order."""
    return f"{generation:08x}"


def generation_of(name: str) -> int:
    """Return the generation that the name of a keyring or slot tells."""
    return int(name.split("/")[-2], 16)


def newest_generation(names: list[str]) -> int:
    """Return the highest generation among names of keyrings or slots; 0 if there are none."""
    groups = [name.split("/")[-2] for name in names]
    return max((int(group, 16) for group in groups if _GENERATION.fullmatch(group)), default=0)


_ID: Final = f"[0-9a-f]{{{2 * OBJECT_ID_LENGTH}}}"
_WHOLE_ID: Final = re.compile(_ID)
_WHOLE_IDS: Final = re.compile(f"{_ID}(?:/{_ID})*")
_GENERATION: Final = re.compile("[0-9a-f]{8}")
_GROUPS: Final[Mapping[ObjectKind, str]] = {
    ObjectKind.KEYRING: "[0-9a-f]{8}/",
    ObjectKind.SLOT: "[0-9a-f]{8}/",
    ObjectKind.INTENT: "[0-9a-f]{8}/",
    ObjectKind.CONTROLLER: f"{_ID}/",
}
_NAMES: Final[Mapping[ObjectKind, re.Pattern[str]]] = {
    **{kind: re.compile(f"{DIRECTORIES[kind]}/{_GROUPS.get(kind, '')}{_ID}") for kind in ObjectKind},
    ObjectKind.PACK: re.compile(rf"{DIRECTORIES[ObjectKind.PACK]}/([0-9a-f]{{2}})/\1[0-9a-f]{{30}}"),
}
