"""Packs: layout, what a flipped bit does, proof before keeping, classes apart, sizes bounded."""

import os
import struct
import threading

import pytest

from repositories.engine.codec.compression import compress
from repositories.engine.codec.frames import decode_frame
from repositories.engine.errors import EngineError, IntegrityError, RepositoryError, UnsupportedFormatError
from repositories.engine.format.headers import (
    OBJECT_HEADER_LENGTH,
    parse_object_header,
    parse_pack_footer,
    parse_part_header,
)
from repositories.engine.format.kinds import ObjectKind, PartKind, object_name
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MAX_CHUNKS_PER_PACK, MIB
from repositories.engine.objects.store import ObjectStore
from repositories.engine.packs import blocks as block_module
from repositories.engine.packs.blocks import BlockStyle, PendingChunk, build_block, open_block, verify_chunks
from repositories.engine.packs.directory import PackClass, PackRecord
from repositories.engine.packs.pipeline import BlockPipeline, PipelineSettings
from repositories.engine.packs.reader import BlockPlace, PackReader
from repositories.engine.packs.table import encode_table, parse_table, table_layout
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import pinned_repository

STYLE = BlockStyle(level=3, padding=False)


@pytest.fixture
def repository() -> Repository:
    return pinned_repository(MemoryStorage()).repository


def pending(repository: Repository, content: bytes, kind: ChunkKind = ChunkKind.DATA) -> PendingChunk:
    return PendingChunk(kind, repository.keyring.chunk_id(kind, content), content)


def run_pipeline(
    store: ObjectStore, work: list[tuple[PackClass, list[PendingChunk]]], target: int = MIB
) -> list[PackRecord]:
    packs: list[PackRecord] = []
    pipeline = BlockPipeline(store, PipelineSettings(STYLE, workers=2, pack_target=target), packs.append)
    try:
        for pack_class, chunks in work:
            pipeline.submit(pack_class, chunks, sum(len(chunk.data) for chunk in chunks))
        pipeline.drain()
    finally:
        pipeline.close()
    return packs


def one_pack(repository: Repository) -> tuple[PackRecord, list[PendingChunk]]:
    chunks = [pending(repository, b"hello " * number) for number in (1, 10, 100)] + [
        pending(repository, os.urandom(99))
    ]
    (pack,) = run_pipeline(repository.store, [(PackClass.DATA, chunks[:3]), (PackClass.DATA, chunks[3:])])
    return pack, chunks


def stored_bytes(repository: Repository, pack_id: bytes) -> bytes:
    return repository.storage.get(object_name(ObjectKind.PACK, pack_id))


def test_a_pack_can_be_walked_without_its_directory(repository: Repository) -> None:
    """Salvage: each part says its length, each block says what it holds."""
    pack, chunks = one_pack(repository)
    data = stored_bytes(repository, pack.pack_id)
    seal = repository.store.seal_of(parse_object_header(data))
    found: list[bytes] = []
    offset = OBJECT_HEADER_LENGTH
    for number in range(2):
        part = parse_part_header(data, offset)
        end = offset + 24 + part.length
        block = open_block(seal, number, data[offset:end])
        verify_chunks(block, repository.keyring)
        found.extend(block.table.ids)
        offset = end
    assert found == [chunk.chunk_id for chunk in chunks]
    assert parse_part_header(data, offset).kind is PartKind.DIRECTORY


def test_directory_and_index_record_agree(repository: Repository) -> None:
    pack, _ = one_pack(repository)
    header, directory = PackReader(repository.store).read_directory(pack.pack_id)
    assert (header, directory.blocks, directory.pack_class) == (pack.header, pack.blocks, PackClass.DATA)
    assert directory.parts == 2
    data = stored_bytes(repository, pack.pack_id)
    footer = parse_pack_footer(data[-32:])
    assert (
        (footer.length, footer.directory_offset)
        == (len(data), directory.blocks_end)
        == (pack.length, footer.directory_offset)
    )


def test_every_flipped_bit_of_a_pack_is_found(repository: Repository) -> None:
    """Guarantee 6: no change of a pack passes for content."""
    pack, chunks = one_pack(repository)
    name = object_name(ObjectKind.PACK, pack.pack_id)
    storage = repository.storage
    assert isinstance(storage, MemoryStorage)
    whole = storage.objects[name]
    for at in range(len(whole)):
        storage.objects[name] = whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
        found = 0
        try:
            PackReader(repository.store).read_directory(pack.pack_id)
        except (IntegrityError, UnsupportedFormatError):
            found += 1
        for number, block in enumerate(pack.blocks):
            place = BlockPlace(pack.pack_id, pack.header, number, block)
            try:
                content = PackReader(repository.store).read_block(place).content
                assert content in (b"".join(chunk.data for chunk in chunks[:3]), chunks[3].data)
            except IntegrityError:
                found += 1
        assert found, f"byte {at} can be changed unnoticed"


@pytest.mark.parametrize("length", [0, 71, 72, 100, 300])
def test_a_cut_pack_is_found(repository: Repository, length: int) -> None:
    pack, _ = one_pack(repository)
    storage = repository.storage
    assert isinstance(storage, MemoryStorage)
    name = object_name(ObjectKind.PACK, pack.pack_id)
    storage.objects[name] = storage.objects[name][:length]
    with pytest.raises(IntegrityError):
        PackReader(repository.store).read_directory(pack.pack_id)
    with pytest.raises(IntegrityError):
        PackReader(repository.store).read_block(BlockPlace(pack.pack_id, pack.header, 1, pack.blocks[1]))


def test_damage_in_transport_is_read_again(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    pack, _ = one_pack(repository)
    real, calls = MemoryStorage.get, []

    def get(self: MemoryStorage, name: str, offset: int = 0, length: int | None = None) -> bytes:
        calls.append(name)
        data = real(self, name, offset, length)
        return data[:-1] + bytes([data[-1] ^ 1]) if len(calls) == 1 else data

    monkeypatch.setattr(MemoryStorage, "get", get)
    block = repository.pack_reader.read_block(BlockPlace(pack.pack_id, pack.header, 0, pack.blocks[0]))
    assert len(block.table) == 3
    assert len(calls) == 2


def test_classes_never_share_a_pack_and_packs_stay_near_their_target(repository: Repository) -> None:
    noise = [os.urandom(300_000) for _ in range(12)]
    work = [(PackClass.DATA, [pending(repository, each)]) for each in noise]
    work += [(PackClass.METADATA, [pending(repository, b"page", ChunkKind.PAGE)])]
    packs = run_pipeline(repository.store, work)
    classes = {pack.pack_id: pack.pack_class for pack in packs}
    assert sorted(classes.values()) == [1, 1, 1, 1, 2]
    for pack in packs:
        kinds = {kind for block in pack.blocks for kind in parse_table(block.table).kinds}
        assert kinds == ({1} if pack.pack_class == PackClass.DATA else {2})
        assert pack.length < 1.3 * MIB


def test_packs_hold_a_bounded_number_of_chunks(repository: Repository) -> None:
    """The pinned limit: 65,536 chunks."""
    chunk = pending(repository, b"x")
    work = [(PackClass.DATA, [chunk] * 20_000)] * 4
    packs = run_pipeline(repository.store, work, target=64 * MIB)
    counts = [sum(len(parse_table(block.table)) for block in pack.blocks) for pack in packs]
    assert sorted(counts) == [20_000, 60_000]
    assert max(counts) <= MAX_CHUNKS_PER_PACK


def test_a_block_that_does_not_decode_is_not_kept(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guarantee 6: what is stored is decoded and re-hashed before the pack is sealed."""

    def broken(data: bytes, level: int) -> object:
        codec, stored = compress(data, level)
        changed = bytearray(stored)
        changed[len(changed) // 2] ^= 1
        return codec, bytes(changed)

    monkeypatch.setattr("repositories.engine.codec.frames.compress", broken)
    chunks = [pending(repository, os.urandom(1000))]
    with pytest.raises(IntegrityError):
        run_pipeline(repository.store, [(PackClass.DATA, chunks)])
    assert not any(stored.name.startswith("packs/") for stored in repository.object_names())


def test_a_defect_poisons_as_a_repository_error(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("repositories.engine.packs.pipeline.prove_block", defect)
    with pytest.raises(RepositoryError, match="ZeroDivisionError"):
        run_pipeline(repository.store, [(PackClass.DATA, [pending(repository, b"x")])])


def test_in_flight_bytes_are_bounded(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 64 MiB in flight, by waiting in submit."""
    gate = threading.Event()
    real = block_module.build_block

    def slow(*arguments: object) -> object:
        gate.wait(30)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("repositories.engine.packs.pipeline.build_block", slow)
    pipeline = BlockPipeline(repository.store, PipelineSettings(STYLE, in_flight=3_000), lambda _: None)
    submitted: list[int] = []

    def submit() -> None:
        for number in range(6):
            pipeline.submit(PackClass.DATA, [pending(repository, bytes([number]) * 1_000)], 1_000)
            submitted.append(number)

    thread = threading.Thread(target=submit)
    thread.start()
    thread.join(0.3)
    assert len(submitted) == 3
    gate.set()
    thread.join(30)
    assert len(submitted) == 6
    pipeline.drain()
    pipeline.close()


def test_closing_early_leaves_no_file_and_no_pack(repository: Repository, tmp_path: object) -> None:
    pipeline = BlockPipeline(repository.store, PipelineSettings(STYLE), lambda _: None)
    pipeline.submit(PackClass.DATA, [pending(repository, b"x")], 1)
    (pack,) = pipeline._packs
    assert os.path.exists(pack._path)
    pipeline.close()
    pipeline.close()
    assert not os.path.exists(pack._path)
    with pytest.raises(RepositoryError):
        pipeline.submit(PackClass.DATA, [pending(repository, b"x")], 1)


def test_blocks_hold_padding_inside_the_seal(repository: Repository) -> None:
    seal = repository.store.seal_of(repository.store.header_for(ObjectKind.PACK, b"p" * 16))
    chunk = pending(repository, os.urandom(10_000))
    padded = build_block(seal, 0, [chunk], BlockStyle(0, padding=True))
    plain = build_block(seal, 0, [chunk], BlockStyle(0, padding=False))
    assert len(padded.part) > len(plain.part)
    assert open_block(seal, 0, padded.part).content == chunk.data
    assert decode_frame(seal.open(0, PartKind.BLOCK, padded.part), MIB).payload == chunk.data


def test_tables() -> None:
    ids = [bytes([number]) * 32 for number in range(3)]
    data = encode_table(b"\1\1\1", [5, 0, 7], ids)
    assert data.hex() == "00000003010101000000050000000000000007" + b"".join(ids).hex()
    table = parse_table(data)
    assert (table.kinds, table.lengths, table.ids) == (b"\1\1\1", (5, 0, 7), tuple(ids))
    assert table_layout(data) == (b"\1\1\1", (0, 5, 5, 12))
    for bad in (
        b"",
        data[:-1],
        data + b"\0",
        struct.pack(">I", 2**32 - 1),
        struct.pack(">I", 70_000) + bytes(70_000 * 37),
    ):
        with pytest.raises(IntegrityError):
            parse_table(bad)


def test_blocks_over_the_limit_are_refused(repository: Repository) -> None:
    seal = repository.store.seal_of(repository.store.header_for(ObjectKind.PACK, b"p" * 16))
    with pytest.raises(ValueError, match="limit"):
        build_block(seal, 0, [PendingChunk(ChunkKind.DATA, b"i" * 32, bytes(17 * MIB))], STYLE)


def test_typed_errors_are_engine_errors() -> None:
    assert issubclass(IntegrityError, EngineError)
    assert not issubclass(IntegrityError, RepositoryError)
