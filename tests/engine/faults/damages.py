"""Ways to damage one object of a repository: each byte region changed, cut, emptied, exchanged, taken away.

Owns the regions of each form of object (docs/repository-format.md, sections 2, 5 and 6).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from repositories.engine.format.headers import (
    FOOTER_LENGTH,
    OBJECT_HEADER_LENGTH,
    PART_HEADER_LENGTH,
    parse_pack_footer,
)
from repositories.engine.format.kinds import COPIES, DIRECTORIES, WRITTEN_TWICE, ObjectKind

Objects = dict[str, bytes]
_KINDS = {directory: kind for kind, directory in DIRECTORIES.items()}
_HEADER = {
    "magic": 0, "kind": 8, "version": 9, "key source": 10, "flags": 11, "domain": 15, "epoch": 19, "object id": 20,
    "salt": 40, "reserved": 70,
}  # fmt: skip
_EPOCH = slice(16, 20)
_PART = {"part magic": 0, "part kind": 4, "part flags": 5, "part reserved": 6, "part length": 11, "nonce": 14}
_CLEAR = {"magic": 3, "kind": 8, "version": 9, "reserved": 10, "length": 15, "payload": 17}


@dataclass(frozen=True, slots=True)
class Damage:
    """One change of one object; `apply` returns the objects after it. `copies`: `first`, `second` or `all`."""

    kind: ObjectKind
    name: str
    harm: str
    copies: str
    apply: Callable[[Objects], Objects]


def kind_of(name: str) -> ObjectKind | None:
    """Return the kind of the object of this name."""
    return _KINDS.get(name.removeprefix(COPIES).split("/")[0])


def damages(objects: Objects) -> Iterator[Damage]:
    """Yield every damage to one object of each kind; of packs to one of each class."""
    names = sorted(name for name in objects if not name.startswith(COPIES))
    for kind in ObjectKind:
        of_kind = [name for name in names if kind_of(name) is kind]
        for name in _victims(kind, of_kind, objects):
            fellow = next(each for each in reversed(of_kind or names) if each != name or len(of_kind) == 1)
            for harm, changed in _harms(kind, objects[name], objects[fellow]):
                if changed != objects[name]:
                    yield from _in_copies(kind, name, harm, changed)


def _victims(kind: ObjectKind, names: list[str], objects: Objects) -> list[str]:
    """Return the newest keyring and inventory; the smallest and the largest pack; else the first."""
    if kind is ObjectKind.PACK:
        by_size = sorted(names, key=lambda name: len(objects[name]))
        return [by_size[0], by_size[-1]]
    if kind is ObjectKind.INVENTORY:
        return [max(names, key=lambda name: objects[name][_EPOCH])]
    return names[-1:] if kind is ObjectKind.KEYRING else names[:1]


def _in_copies(kind: ObjectKind, name: str, harm: str, changed: bytes | None) -> Iterator[Damage]:
    def put(*places: str) -> Callable[[Objects], Objects]:
        def apply(objects: Objects) -> Objects:
            after = {each: data for each, data in objects.items() if changed is not None or each not in places}
            return after if changed is None else after | dict.fromkeys(places, changed)

        return apply

    if kind not in WRITTEN_TWICE:
        yield Damage(kind, name, harm, "all", put(name))
        return
    yield Damage(kind, name, harm, "first", put(name))
    yield Damage(kind, name, harm, "second", put(COPIES + name))
    yield Damage(kind, name, harm, "all", put(name, COPIES + name))


def _harms(kind: ObjectKind, data: bytes, fellow: bytes) -> Iterator[tuple[str, bytes | None]]:
    for region, at in _regions(kind, data).items():
        yield f"flipped: {region}", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    for harm, length in (("one byte", len(data) - 1), ("half", len(data) // 2), ("all but its head", 20)):
        yield f"cut: {harm}", data[:length]
    yield "emptied", b""
    yield "lengthened", data + b"\0"
    yield "exchanged", fellow
    yield "removed", None


def _regions(kind: ObjectKind, data: bytes) -> dict[str, int]:
    if kind in (ObjectKind.CONFIG, ObjectKind.SLOT, ObjectKind.INTENT):
        return _CLEAR | {"payload's middle": len(data) // 2, "payload's end": len(data) - 33, "checksum": len(data) - 1}
    parts = {"": OBJECT_HEADER_LENGTH}
    found = dict(_HEADER)
    if kind is ObjectKind.PACK:
        footer = parse_pack_footer(data[-FOOTER_LENGTH:])
        parts = {"": OBJECT_HEADER_LENGTH, "directory's ": footer.directory_offset}
        found |= {f"footer's byte {at}": len(data) - FOOTER_LENGTH + at for at in range(0, FOOTER_LENGTH, 3)}
        found |= {"directory's tag": footer.directory_offset + footer.directory_length - 1}
    for of, begin in parts.items():
        found |= {of + region: begin + at for region, at in _PART.items()}
        found |= {of + "frame": begin + PART_HEADER_LENGTH, of + "table": begin + PART_HEADER_LENGTH + 22}
    return found | {"middle": len(data) // 2, "end": len(data) - 1}
