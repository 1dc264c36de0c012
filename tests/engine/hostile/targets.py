"""Every decoder of the format with true encodings of what it decodes.

Each target takes bytes and must return or raise one of the engine's typed errors: under the seal (payloads) and above
it (the bytes on the medium).
"""

import contextlib
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from repositories.engine.codec.frames import decode_frame, encode_frame
from repositories.engine.errors import EngineError
from repositories.engine.format import collection, commits, notes, verification
from repositories.engine.format.clear import unwrap_clear, wrap_clear
from repositories.engine.format.config import parse_config, unknown_write_features
from repositories.engine.format.headers import parse_object_header, parse_pack_footer, parse_part_header
from repositories.engine.format.inventories import InventoryRecord
from repositories.engine.format.kinds import ObjectKind, generation_group, object_id_of, object_name
from repositories.engine.format.records import Record, decode, encode
from repositories.engine.format.rotations import IntentRecord, KeyChangeRecord, intent_to_bytes, parse_intent
from repositories.engine.ids import ChunkKind
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.index.segments import decode_segment
from repositories.engine.keys.keyring import KeyringRecord, open_keyring
from repositories.engine.keys.recovery import parse_recovery_code
from repositories.engine.keys.slots import parse_slot
from repositories.engine.limits import MAX_BLOCK_DECODED, MAX_PACK
from repositories.engine.manifest.entries import Entry, StreamRef, decode_entry, unpack_time
from repositories.engine.manifest.entries import encode as encode_entry
from repositories.engine.manifest.entry_reader import read_listings
from repositories.engine.manifest.known_pages import read_known
from repositories.engine.manifest.pages import decode_list
from repositories.engine.manifest.problems import read_problems
from repositories.engine.manifest.root import decode_root
from repositories.engine.manifest.streams import read_extents, stream_parts
from repositories.engine.packs.blocks import open_block
from repositories.engine.packs.directory import DirectoryRecord, check_blocks
from repositories.engine.packs.reader import BlockPlace, PackReader
from repositories.engine.packs.table import parse_table, table_layout
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.format import golden
from tests.engine.hostile.mutations import Mutator
from tests.engine.hostile.samples import sample_backup
from tests.engine.manifest.memory_chunks import MemoryChunks

_PARSED: dict[ObjectKind, Callable[[bytes], object]] = {
    ObjectKind.CONFIG: lambda data: _use_config(data),
    ObjectKind.SLOT: parse_slot,
    ObjectKind.INTENT: parse_intent,
}
_SEALED_ALONE = frozenset(ObjectKind) - {*_PARSED, ObjectKind.KEYRING, ObjectKind.PACK}
_KEY_CHANGE = KeyChangeRecord(1, 2, b"\x02" * 16, 4026531836, 4711, 123456, "host", 1_790_000_000_000_000_000)
_RECORDS: dict[ObjectKind, type[Record]] = {
    ObjectKind.MANIFEST: commits.ManifestRecord,
    ObjectKind.CHECKPOINT: commits.CheckpointRecord,
    ObjectKind.ANNOTATION: notes.AnnotationRecord,
    ObjectKind.TOMBSTONE: notes.TombstoneRecord,
    ObjectKind.SESSION: collection.LeaseRecord,
    ObjectKind.MARK: collection.MarkRecord,
    ObjectKind.SWEEP: collection.SweepRecord,
    ObjectKind.CONTROLLER: collection.ControllerRecord,
    ObjectKind.VERIFIED: verification.CheckedRecord,
    ObjectKind.DAMAGE: verification.DamageRecord,
    ObjectKind.INVENTORY: InventoryRecord,
    ObjectKind.KEY_CHANGE: KeyChangeRecord,
}


@dataclass(frozen=True)
class Target:
    """A decoder and what it takes."""

    name: str
    samples: tuple[bytes, ...]
    decode: Callable[[bytes], object]


@cache
def targets() -> tuple[Target, ...]:
    """Return all decoders, each with samples that it accepts."""
    repository, objects = _golden()
    return (*_under_the_seal(repository, objects), *_of_manifests(), *_above_the_seal(repository, objects))


def _golden() -> tuple[Repository, dict[str, bytes]]:
    repository = golden.build()[0].repository
    repository.store.put(ObjectKind.KEY_CHANGE, encode(_KEY_CHANGE))
    keyring_id, keyring = next(iter(_named(_objects(repository), ObjectKind.KEYRING)))
    intent = object_name(ObjectKind.INTENT, keyring_id, generation_group(1))
    repository.storage.put(intent, intent_to_bytes(IntentRecord(1, keyring_id, keyring)))
    return repository, _objects(repository)


def _objects(repository: Repository) -> dict[str, bytes]:
    return {found.name: repository.storage.get(found.name) for found in repository.object_names()}


def _named(objects: dict[str, bytes], kind: ObjectKind) -> Iterable[tuple[bytes, bytes]]:
    for name, data in objects.items():
        object_id = object_id_of(name)
        if object_id is not None and data[8] == kind:
            yield object_id, data


def _under_the_seal(repository: Repository, objects: dict[str, bytes]) -> Iterable[Target]:
    store = repository.store
    for kind, record in _RECORDS.items():
        payloads = {store.open(kind, object_id, data) for object_id, data in _named(objects, kind)}
        yield Target(f"record of {kind.name.lower()}", tuple(sorted(payloads)), lambda data, r=record: decode(data, r))  # type: ignore[misc]
    segments = {store.open(ObjectKind.INDEX, object_id, data) for object_id, data in _named(objects, ObjectKind.INDEX)}
    yield Target("index segment", tuple(sorted(segments)), _use_segment)
    yield Target("keyring", (encode(repository.keyring.record),), _use_keyring)
    directories = [PackReader(store).read_directory(object_id)[1] for object_id, _ in _named(objects, ObjectKind.PACK)]
    yield Target("pack directory", tuple(map(encode, directories)), _use_directory)
    tables = tuple(block.table for directory in directories for block in directory.blocks)
    yield Target("chunk table", tables, lambda data: (parse_table(data), table_layout(data)))
    frames = (
        encode_frame(b"frame " * 99, 3, table=tables[0], padding=True),
        encode_frame(b"", 0),
        encode_frame(b"x", 0),
    )
    yield Target("frame", frames, lambda data: decode_frame(data, MAX_BLOCK_DECODED))
    for kind, parse in _PARSED.items():
        payloads = {unwrap_clear(kind, data) for _, data in _named(objects, kind)}
        yield Target(
            f"payload of {kind.name.lower()}",
            tuple(payloads),
            lambda data, k=kind, p=parse: p(wrap_clear(k, data)),  # type: ignore[misc]
        )


def _use_segment(data: bytes) -> None:
    segment = decode_segment(data)
    index = ChunkIndex(frozenset(), {})
    index.add(segment.packs)
    for pack in segment.packs:
        for block in pack.blocks:
            for chunk_id in parse_table(block.table).ids:
                index.locate(ChunkKind.DATA, chunk_id)


def _use_keyring(data: bytes) -> None:
    keyring = open_keyring(decode(data, KeyringRecord))
    keyring.chunker()
    keyring.chunk_id(ChunkKind.PAGE, b"content")


def _use_directory(data: bytes) -> None:
    directory = decode(data, DirectoryRecord)
    check_blocks("a pack", directory.blocks, MAX_PACK)


def _use_config(data: bytes) -> None:
    config = parse_config(data)
    unknown_write_features(config.read_features, config.write_features)


def _of_manifests() -> Iterable[Target]:
    sample = sample_backup()
    yield Target("root", (sample.root,), decode_root)
    yield Target("entry", tuple(map(encode_entry, sample.entries)), _use_entry)
    yield Target("page", sample.leaves, lambda data: _read_page(data, 0))
    yield Target("list of pages", sample.lists, _read_list)
    yield Target("page of extents", sample.extents, _read_extents)
    yield Target("page of problems", sample.problems, _read_problems)
    yield Target("recovery code", (b"0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV-WXYZ-0000",), parse_recovery_code)


def _use_entry(data: bytes) -> Entry:
    entry = decode_entry(data)
    unpack_time(entry.mtime)
    unpack_time(entry.ctime)
    return entry


def _read_page(data: bytes, level: int) -> None:
    chunks = MemoryChunks()
    page, _ = chunks.put(ChunkKind.PAGE, data)
    with contextlib.suppress(EngineError):
        list(read_listings(chunks, StreamRef(page, level, 1, 0), lost=lambda path, count: None))
    with contextlib.suppress(EngineError):
        list(read_known(chunks, StreamRef(page, level, 3 if level else 5, 0)))
    list(read_listings(chunks, StreamRef(page, level, 3 if level else 5, 0)))


def _read_list(data: bytes) -> None:
    decode_list(data, 1)
    _read_page(data, 1)


def _read_extents(data: bytes) -> None:
    chunks = MemoryChunks()
    page, _ = chunks.put(ChunkKind.STREAM, data)
    top = StreamRef(page, 0, 3, 10_000)
    list(stream_parts(chunks, top, content=True))
    list(read_extents(chunks, top))


def _read_problems(data: bytes) -> None:
    chunks = MemoryChunks()
    page, _ = chunks.put(ChunkKind.STREAM, data)
    list(read_problems(chunks, StreamRef(page, 0, 2, 0)))


def _above_the_seal(repository: Repository, objects: dict[str, bytes]) -> Iterable[Target]:
    store = repository.store
    for kind in _SEALED_ALONE:
        object_id, data = next(iter(_named(objects, kind)))
        yield Target(
            f"object of {kind.name.lower()}",
            (data,),
            lambda data, k=kind, i=object_id: store.open(k, i, data),  # type: ignore[misc]
        )
    for kind, parse in _PARSED.items():
        yield Target(f"object of {kind.name.lower()}", tuple(data for _, data in _named(objects, kind)), parse)
    packs = dict(_named(objects, ObjectKind.PACK))
    for object_id, data in packs.items():
        yield Target(f"pack {object_id.hex()[:4]}", (data,), lambda data, i=object_id: _use_pack(repository, i, data))  # type: ignore[misc]
        part = data[72:]
        yield Target("part header", (part,), parse_part_header)
        yield Target("footer", (data[-32:],), parse_pack_footer)
        yield Target("object header", (data[:72],), parse_object_header)
        seal = store.seal_of(parse_object_header(data))
        yield Target("block", (bytes(seal_block(data)),), lambda data, s=seal: open_block(s, 0, data))  # type: ignore[misc]


def seal_block(pack: bytes) -> bytes:
    """Return the first part of a pack, header included."""
    return pack[72 : 72 + 24 + parse_part_header(pack, 72).length]


def _use_pack(repository: Repository, pack_id: bytes, data: bytes) -> None:
    storage = repository.storage
    assert isinstance(storage, MemoryStorage)
    name = f"packs/{pack_id.hex()[:2]}/{pack_id.hex()}"
    whole = storage.objects[name]
    storage.objects[name] = data
    try:
        reader = PackReader(repository.store)
        header, directory = reader.read_directory(pack_id)
        for number, block in enumerate(directory.blocks):
            reader.read_block(BlockPlace(pack_id, header, number, block))
    finally:
        storage.objects[name] = whole


def variation(numbers: random.Random) -> tuple[Target, bytes]:
    """Return a target and what it is to be given."""
    target = numbers.choice(targets())
    pool = tuple(sample for each in targets() for sample in each.samples)
    return target, Mutator(numbers, pool).mutate(numbers.choice(target.samples))
