"""Memory and time of a copy of a million chunks (3.6). Run by hand: `python -m tests.long.copy_memory [chunks]`.

Owns the making of such a repository: one backup of as many files, each of one small chunk of its own. It is copied to a
related and to an unrelated repository, each in a process of its own, and once more, when there is nothing to do.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.copying import CopyRequest, copy_backups
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import Entry, EntryType, encode
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.manifest.root import (
    BackupRoot,
    LineageRecord,
    OriginRecord,
    SourceRecord,
    Statistics,
    encode_root,
)
from repositories.engine.repository import CreateOptions, create_repository, open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.repositories import CHEAP, PASSWORD
from tests.long.prune_memory import peak_of_this_process, tell

PER_DIRECTORY = 1000


def make_origin(path: str, chunks: int) -> None:
    """Make the repository that is copied from."""
    options = CreateOptions(password=PASSWORD, kdf=CHEAP, reserve_bytes=10)
    repository = create_repository(LocalStorage(path), options).repository
    with repository.begin_write() as session:
        writer = EntryWriter(session)
        writer.open_directory(b"")
        for first in range(0, chunks, PER_DIRECTORY):
            name = b"%07d" % (first // PER_DIRECTORY)
            writer.add(name, encode(Entry(EntryType.DIRECTORY, name, 0o40755, 0, 0, 0, 1, 1, 1)))
        for first in range(0, chunks, PER_DIRECTORY):
            writer.open_directory(b"%07d" % (first // PER_DIRECTORY))
            contents = [b"content of file %09d" % number for number in range(first, first + PER_DIRECTORY)]
            for number, (chunk, _) in enumerate(session.put_many(ChunkKind.DATA, contents), first):
                name = b"%09d" % number
                size = len(contents[0])
                entry = Entry(EntryType.FILE, name, 0o100644, 0, 0, size, number, number, number, extents=(chunk,))
                writer.add(name, encode(entry))
        root = BackupRoot(
            backup_id="made",
            source=SourceRecord("made", "filesystem", b"/", "host"),
            origin=OriginRecord("run", "external"),
            lineage=LineageRecord(1, "made", "full"),
            started_ns=0,
            finished_ns=0,
            statistics=Statistics(*[0] * 12),
            pages=writer.finish(),
        )
        session.commit(encode_root(root), lambda: None)


def measure(origin: str, target: str, *, related: bool) -> None:
    """Copy twice in this process and print times and peak."""
    source = open_repository(LocalStorage(origin), PASSWORD)
    keyring = source.keyring if related else None
    options = CreateOptions(password=PASSWORD, kdf=CHEAP, reserve_bytes=10, related_to=keyring)
    made = create_repository(LocalStorage(target), options).repository
    for what in ("first", "second"):
        begun = time.monotonic()
        report = copy_backups(source, made, CopyRequest(), Hooks())
        seconds, peak = time.monotonic() - begun, peak_of_this_process() / 1e6
        if report.exit_code:
            raise SystemExit(report.failed[0].reason)
        done = f"{report.new_chunks:,} chunks, {report.resealed_blocks:,} blocks as they are"
        tell(f"{'related' if related else 'unrelated'}, {what}: {done}, in {seconds:.0f} s; peak {peak:.0f} MB")


def main() -> None:
    """Make the origin, and copy it in processes of their own."""
    if len(sys.argv) > 3:
        measure(sys.argv[1], sys.argv[2], related=sys.argv[3] == "related")
        return
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as directory:
        origin = str(Path(directory) / "origin")
        make_origin(origin, chunks)
        tell(f"made {chunks:,} chunks; peak {peak_of_this_process() / 1e6:.0f} MB")
        for relation in ("related", "unrelated"):
            words = [sys.executable, "-m", "tests.long.copy_memory", origin, str(Path(directory) / relation), relation]
            subprocess.run(words, check=True)


if __name__ == "__main__":
    main()
