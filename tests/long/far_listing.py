"""Lists 100,000 objects on each kind of remote medium and says how long it took and how much memory (4.7).

.venv/bin/python -m tests.long.far_listing [--objects 100000] [--milliseconds 0]
"""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from repositories.engine.storage.locations import open_storage
from tests.engine.storage.proxy import proxy
from tests.engine.storage.servers import BUCKET, can_run_sshd, know_at, running


def main() -> int:
    """List on every kind that can be started here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--milliseconds", type=float, default=0.0)
    given = parser.parse_args()
    for kind in ("s3", "webdav", "sftp", *(["openssh"] if can_run_sshd() else [])):
        with tempfile.TemporaryDirectory(prefix="syncova-list-") as name:
            list_on(kind, Path(name), given.objects, given.milliseconds / 1000)
    return 0


def list_on(kind: str, place: Path, objects: int, seconds: float) -> None:
    """Make the objects behind the server's back, list them through it."""
    with running(kind, place) as server, proxy(server.port, seconds) as port:
        served = server.directory / BUCKET / "r" if kind == "s3" else server.directory / "r"
        for number in range(256):
            (served / "packs" / f"{number:02x}").mkdir(parents=True)
        for number in range(objects):
            (served / "packs" / f"{number % 256:02x}" / f"{number:032x}").touch()
        storage = open_storage(server.location("r", port), know_at(server, port, place))
        begun = time.monotonic()
        count = sum(1 for _ in storage.list("packs/"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        sys.stdout.write(f"{kind:8} {count} objects in {time.monotonic() - begun:.1f} s, peak {peak} MiB\n")
        assert count == objects


if __name__ == "__main__":
    sys.exit(main())
