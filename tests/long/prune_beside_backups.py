"""How much a prune slows running backups (3.15). Run by hand: `python -m tests.long.prune_beside_backups [MiB]`.

Owns the measurement: backups of a tree of which most is new each time, alone and beside prunes that repack, in turns,
so that what else the machine does hits both alike.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository

TURNS = 5
FILE = 2_000_000
START_SECONDS = 1.5


def renew(root: Path, size: int) -> None:
    """Make files of which nothing is known."""
    for number in range(size // FILE):
        (root / f"{number:05d}").write_bytes(os.urandom(FILE // 2) + b"%d " % number * (FILE // 20))


def forget(repository: Repository, manifest: str) -> None:
    record = TombstoneRecord((bytes.fromhex(manifest),), repository.clock.now_ns(), "measured")
    repository.store.put(ObjectKind.TOMBSTONE, encode(record))


def timed_backup(path: str, root: Path) -> tuple[float, str]:
    repository = open_repository(LocalStorage(path), PASSWORD)
    begun = time.monotonic()
    manifest = back_up_tree(repository, root).manifest_id
    return time.monotonic() - begun, manifest


def half_used(repository: Repository, root: Path, size: int) -> None:
    """Leave packs half of which is used: work for a prune that lasts as long as a backup."""
    for _ in range(4):
        renew(root, size)
        whole = back_up_tree(repository, root, name="other").manifest_id
        for each in sorted(root.iterdir())[::2]:
            each.unlink()
        back_up_tree(repository, root, name="other")
        forget(repository, whole)


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def start_prune(path: str) -> "subprocess.Popen[bytes]":
    """Start the command as a user would; it does not wait for the backup for ever."""
    words = ("prune", path, "--max-unused", "0%", "--max-duration", "60s", "--password-file", f"{path}.password")
    return subprocess.Popen([sys.executable, "-m", "repositories.cli", *words], stdout=sys.stdout)


def main() -> None:
    """Measure, and print the medians."""
    size = int(sys.argv[1]) * 1024 * 1024 if len(sys.argv) > 1 else 256 * 1024 * 1024
    alone: list[float] = []
    beside: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        path, root, other = f"{directory}/repository", Path(directory) / "tree", Path(directory) / "other"
        root.mkdir()
        other.mkdir()
        repository = make_repository(LocalStorage(path))
        Path(f"{path}.password").write_bytes(PASSWORD)
        os.chmod(f"{path}.password", 0o600)
        last = ""
        for _ in range(TURNS):
            half_used(repository, other, size)
            for pruning, times in ((False, alone), (True, beside)):
                renew(root, size)
                child = start_prune(path) if pruning else None
                # Starting a program is not what is measured.
                time.sleep(START_SECONDS)
                seconds, manifest = timed_backup(path, root)
                times.append(seconds)
                if child is not None:
                    child.wait()
                if last:
                    forget(repository, last)
                last = manifest
                tell(f"{'beside a prune' if pruning else 'alone'}: {seconds:.1f} s")
    tell(f"median alone {statistics.median(alone):.1f} s, beside a prune {statistics.median(beside):.1f} s")


if __name__ == "__main__":
    main()
