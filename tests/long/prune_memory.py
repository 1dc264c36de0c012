"""Memory of a prune on an index of a million chunks (3.15). Run by hand: `python -m tests.long.prune_memory [chunks]`.

Owns the making of such repositories in minutes. Without a further word: index segments that list packs nobody reads,
backups whose pages are real and name all chunks of every second pack; the packs are sparse files of the length that the
index says. With `repack` all packs are real, of small chunks, and backups name every second chunk: all is packed anew.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.format.headers import OBJECT_HEADER_LENGTH
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.index.segments import SegmentRecord
from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.manifest.entries import encode as encode_entry
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.manifest.root import (
    BackupRoot,
    LineageRecord,
    OriginRecord,
    SourceRecord,
    Statistics,
    encode_root,
)
from repositories.engine.packs.directory import BlockRecord, PackClass, PackRecord
from repositories.engine.packs.table import encode_table
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.repository import Repository, WriteSession, open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.repositories import PASSWORD, make_repository

CHUNK = 1_000_000
SMALL = 400
PER_PACK = 32
PACKS_PER_SEGMENT = 12_000

Entries = Iterator[tuple[bytes, bytes]]


def chunk_id(number: int) -> bytes:
    return hashlib.blake2b(number.to_bytes(8, "big"), digest_size=32).digest()


def pack_of(repository: Repository, first: int, path: Path) -> PackRecord:
    """Return a pack of one chunk a block, and make a file of its length."""
    pack_id = repository.store.new_id()
    blocks, offset = [], OBJECT_HEADER_LENGTH
    for number in range(first, first + PER_PACK):
        table = encode_table(bytes([ChunkKind.DATA]), [CHUNK], [chunk_id(number)])
        blocks.append(BlockRecord(offset, CHUNK + 100, CHUNK, table))
        offset += CHUNK + 100
    file = path / object_name(ObjectKind.PACK, pack_id)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    os.truncate(file, offset)
    header = repository.store.header_for(ObjectKind.PACK, pack_id).to_bytes()
    return PackRecord(pack_id, offset, bytes(32), PackClass.DATA, header, tuple(blocks))


def put_segments(repository: Repository, chunks: int, path: Path) -> None:
    packs: list[PackRecord] = []
    for first in range(0, chunks, PER_PACK):
        packs.append(pack_of(repository, first, path))
        if len(packs) == PACKS_PER_SEGMENT:
            repository.store.put(ObjectKind.INDEX, encode(SegmentRecord(0, bytes(16), 0, (), tuple(packs))))
            packs = []
    repository.store.put(ObjectKind.INDEX, encode(SegmentRecord(0, bytes(16), 0, (), tuple(packs))))


def entries(chunks: int) -> Entries:
    """Yield files that use all chunks of every second pack, one chunk each."""
    for pack in range(0, chunks // PER_PACK, 2):
        for number in range(pack * PER_PACK, (pack + 1) * PER_PACK):
            name = b"%09d" % number
            entry = Entry(
                EntryType.FILE, name, 0o100644, 0, 0, CHUNK, number, number, number, extents=(chunk_id(number),)
            )
            yield name, encode_entry(entry)


def put_chunks(session: WriteSession, chunks: int) -> Entries:
    """Store real chunks; yield files that use every second one."""
    for number in range(chunks):
        content = hashlib.shake_128(number.to_bytes(8, "big")).digest(SMALL)
        stored, _ = session.put(ChunkKind.DATA, content)
        if number % 2:
            name = b"%09d" % number
            entry = Entry(EntryType.FILE, name, 0o100644, 0, 0, SMALL, number, number, number, extents=(stored,))
            yield name, encode_entry(entry)


def put_backup(repository: Repository, make: Callable[[WriteSession], Entries]) -> None:
    with repository.begin_write() as session:
        writer = EntryWriter(session)
        writer.open_directory(b"")
        for name, raw in make(session):
            writer.add(name, raw)
        pages = writer.finish()
        root = BackupRoot(
            backup_id="made",
            source=SourceRecord("made", "filesystem", b"/", "host"),
            origin=OriginRecord("run", "external"),
            lineage=LineageRecord(1, "made", "full"),
            started_ns=0,
            finished_ns=0,
            statistics=Statistics(*[0] * 12),
            pages=pages,
        )
        session.commit(encode_root(root), lambda: None)


def peak_of_this_process() -> int:
    """Return the greatest resident size since this program was started, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def measure(path: str) -> None:
    """Prune in this process and print time and peak."""
    repository = open_repository(LocalStorage(path), PASSWORD)
    phases: dict[str, tuple[int, float]] = {}
    begun = time.monotonic()
    tell(f"opened: {peak_of_this_process() / 1e6:.0f} MB")
    hooks = Hooks(report=lambda each: phases.update({each.phase: (peak_of_this_process(), time.monotonic() - begun)}))
    report = prune(repository, PruneRequest(max_unused=0.0), hooks)
    for phase, (peak, seconds) in phases.items():
        tell(f"{phase}: {peak / 1e6:.0f} MB, until {seconds:.0f} s")
    tell(f"{report.deleted_packs} of {report.plan.packs} packs deleted, {report.repacked_packs} repacked")
    tell(f"peak {peak_of_this_process() / 1e6:.0f} MB in {time.monotonic() - begun:.0f} s")


def main() -> None:
    """Make the repository, and prune it in a process of its own."""
    words = sys.argv[1:]
    if words[:1] == ["measure"]:
        measure(words[1])
        return
    repack = words[-1:] == ["repack"]
    chunks = int(words[0]) if words and words[0].isdigit() else 1_000_000
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "repository"
        repository = make_repository(LocalStorage(str(path)))
        put_backup(repository, lambda session: put_chunks(session, chunks) if repack else entries(chunks))
        if not repack:
            put_segments(repository, chunks, path)
        subprocess.run([sys.executable, "-m", "tests.long.prune_memory", "measure", str(path)], check=True)


if __name__ == "__main__":
    main()
