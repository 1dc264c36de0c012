"""What opening a large repository takes (4.3). `python -m tests.long.scale --packs 1000000 --chunks 5 --backups 10000`.

Owns the making of such a repository in minutes: index segments that list packs nobody reads, sparse pack files of the
length that the index says, one manifest repeated under other ids, nothing synced. Each figure comes from a process of
its own, processor time first, since others may work on the machine: of `--rounds` the least.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import msgspec

from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.headers import OBJECT_HEADER_LENGTH
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.index.segments import SegmentRecord
from repositories.engine.manifest.backups import list_backups
from repositories.engine.manifest.root import decode_root, encode_root
from repositories.engine.packs.directory import BlockRecord, PackClass, PackRecord
from repositories.engine.packs.table import encode_table
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository

PACKS_PER_SEGMENT = 50_000
LENGTH = 1_000_000
LOOKUPS = 200_000


def main() -> int:
    """Run the program; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--packs", type=int, default=1_000_000)
    parser.add_argument("--chunks", type=int, default=5, help="of each pack")
    parser.add_argument("--block", type=int, default=5, help="chunks of each block")
    parser.add_argument("--backups", type=int, default=10_000)
    parser.add_argument("--place", type=Path, help="a directory with room for so many files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--step", choices=list(STEPS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        STEPS[arguments.step](arguments.place)
        return 0
    with tempfile.TemporaryDirectory(prefix="syncova-scale-", dir=arguments.place) as name:
        place = Path(name)
        begun = time.monotonic()
        make(place, arguments)
        _say(f"made in {time.monotonic() - begun:.0f} s")
        for step in STEPS:
            rounds = [_taken(place, step) for _ in range(1 if step == "index, nothing kept" else arguments.rounds)]
            best = min(rounds, key=lambda each: float(each["cpu"]))
            _say(f"{step:22} {best.pop('cpu'):>7} s processor {best.pop('wall'):>7} s wall  {best or ''}")
        kept = next((place / "kept").glob("*.index"), None)
        if kept is not None:
            _say(f"kept: {kept.stat().st_size / (arguments.packs * arguments.chunks):.1f} bytes a chunk")
    return 0


def make(place: Path, arguments: argparse.Namespace) -> None:
    """Make the repository."""
    with mock.patch("os.fsync"):
        repository = make_repository(LocalStorage(str(place / "repository")))
        tree = place / "tree"
        tree.mkdir()
        (tree / "file").write_bytes(b"content")
        back_up_tree(repository, tree)
        _put_manifests(repository, arguments.backups)
        _put_segments(repository, place / "repository", arguments)


def _put_manifests(repository: Repository, count: int) -> None:
    stored = repository.backups()[0]
    root = decode_root(stored.root)
    for number in range(1, count):
        named = msgspec.structs.replace(root, backup_id=f"{root.backup_id[:-8]}{number:08x}")
        record = ManifestRecord(0, stored.received_ns + number, stored.generation, bytes(16), encode_root(named))
        repository.store.put(ObjectKind.MANIFEST, encode(record))


def _put_segments(repository: Repository, path: Path, arguments: argparse.Namespace) -> None:
    source = random.Random(1)
    packs: list[PackRecord] = []
    for number in range(arguments.packs):
        packs.append(_pack(repository, path, source, (arguments.chunks, arguments.block)))
        if len(packs) == PACKS_PER_SEGMENT or number == arguments.packs - 1:
            repository.store.put(ObjectKind.INDEX, encode(SegmentRecord(0, bytes(16), 0, (), tuple(packs))))
            packs = []


def _pack(repository: Repository, path: Path, source: random.Random, shape: tuple[int, int]) -> PackRecord:
    pack_id = repository.store.new_id()
    blocks, offset = [], OBJECT_HEADER_LENGTH
    chunks, most = shape
    for first in range(0, chunks, most):
        count = min(most, chunks - first)
        ids = [source.randbytes(32) for _ in range(count)]
        table = encode_table(bytes([ChunkKind.DATA]) * count, [LENGTH] * count, ids)
        blocks.append(BlockRecord(offset, LENGTH, LENGTH * count, table))
        offset += LENGTH
    file = path / object_name(ObjectKind.PACK, pack_id)
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "wb") as made:
        os.truncate(made.fileno(), offset)
    header = repository.store.header_for(ObjectKind.PACK, pack_id).to_bytes()
    return PackRecord(pack_id, offset, bytes(32), PackClass.DATA, header, tuple(blocks))


def _taken(place: Path, step: str) -> dict[str, float]:
    command = [sys.executable, "-P", "-m", "tests.long.scale", "--place", str(place), "--step", step]
    told: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return told


def _timed(act: Callable[[], dict[str, float]]) -> None:
    wall, processor = time.monotonic(), time.process_time()
    more = act()
    taken = {"cpu": round(time.process_time() - processor, 3), "wall": round(time.monotonic() - wall, 3)}
    _say(json.dumps(taken | more))


def _open(place: Path) -> Repository:
    repository = open_repository(LocalStorage(str(place / "repository")), PASSWORD)
    repository.keep_in(str(place / "kept"))
    return repository


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _unlock(place: Path) -> None:
    _timed(lambda: {"generation": _open(place).keyring.generation})


def _backups(place: Path) -> None:
    _timed(lambda: {"backups": len(list_backups(_open(place)))})


def _index(place: Path) -> None:
    before = _peak()

    def act() -> dict[str, float]:
        index = _open(place).reader().index
        return {"packs": len(index.packs()), "MiB more": _peak() - before}

    _timed(act)


def _write_session(place: Path) -> None:
    repository = _open(place)

    def act() -> dict[str, float]:
        repository.begin_write().close()
        return {}

    _timed(act)


def _lookups(place: Path) -> None:
    index = _open(place).reader().index
    source = random.Random(1)
    known = [source.randbytes(32) for _ in range(LOOKUPS)]
    unknown = [os.urandom(32) for _ in range(LOOKUPS)]

    def act() -> dict[str, float]:
        begun = time.process_time()
        for chunk_id in _chunks(known, unknown):
            index.present(chunk_id)
        return {"µs each": round((time.process_time() - begun) / 2 / LOOKUPS * 1e6, 2)}

    _timed(act)


def _chunks(known: list[bytes], unknown: list[bytes]) -> Iterator[bytes]:
    for pair in zip(known, unknown, strict=True):
        yield from pair


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


STEPS = {
    "unlock": _unlock,
    "list backups": _backups,
    "index, nothing kept": _index,
    "index": _index,
    "begin to write": _write_session,
    "look-ups": _lookups,
}


if __name__ == "__main__":
    sys.exit(main())
