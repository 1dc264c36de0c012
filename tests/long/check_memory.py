"""Memory and time of a check of a million chunks (3.1). Run by hand: `python -m tests.long.check_memory [chunks]`.

Owns two such repositories. One has a million files of one small chunk each, really packed: it is checked without and
with reading. The other has each chunk in a block of its own, as large files have, in packs that nobody could read:
its structure is checked. Each check runs in a process of its own.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.repositories import PASSWORD, make_repository
from tests.long.copy_memory import make_origin
from tests.long.prune_memory import entries, peak_of_this_process, put_backup, put_segments, tell


def measure(path: str, what: str, *, read_data: bool) -> None:
    """Check in this process and print time and peak."""
    repository = open_repository(LocalStorage(path), PASSWORD)
    before = peak_of_this_process() / 1e6
    begun = time.monotonic()
    report = check(repository, CheckRequest(read_data=read_data), Hooks())
    seconds, peak = time.monotonic() - begun, peak_of_this_process() / 1e6
    if not report.ok:
        raise SystemExit(report.problems[0].message)
    read = f"{report.chunks_referenced:,} chunks named, {report.chunks_read:,} read, in {report.packs:,} packs"
    tell(f"{what}, {'all data' if read_data else 'structure'}: {read}, {seconds:.0f} s; {before:.0f} to {peak:.0f} MB")


def check_apart(path: Path, what: str, depth: str) -> None:
    subprocess.run([sys.executable, "-m", "tests.long.check_memory", str(path), what, depth], check=True)


def main() -> None:
    """Make both repositories, and check them."""
    if len(sys.argv) > 3:
        measure(sys.argv[1], sys.argv[2], read_data=sys.argv[3] == "read")
        return
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as directory:
        small, large = Path(directory) / "small", Path(directory) / "large"
        make_origin(str(small), chunks)
        check_apart(small, "small chunks", "structure")
        check_apart(small, "small chunks", "read")
        repository = make_repository(LocalStorage(str(large)))
        put_backup(repository, lambda _: entries(chunks))
        put_segments(repository, chunks, large)
        check_apart(large, "a block for each", "structure")


if __name__ == "__main__":
    main()
