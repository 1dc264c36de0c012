"""Backup to and restore from S3 far away, against the bare transfer of the same bytes by rclone (4.7).

    .venv/bin/python -m tests.benchmarks.remote [--megabytes 512] [--milliseconds 100] [--rounds 3] [--link MB/S]

Everything runs on loopback: a real S3 server, behind a proxy of its own process that lets each byte arrive later, and
through a link of a given width if one is asked for. Prints medians and their ratios; the target is 0.7.
"""

import argparse
import contextlib
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from repositories.engine.repository import open_repository
from repositories.engine.storage.locations import open_storage
from tests.engine.repositories import PASSWORD, make_repository
from tests.engine.storage.servers import BUCKET, KEY_ID, SECRET, Server, rclone, running

_CHUNK = 4 * 1024 * 1024


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--milliseconds", type=float, default=100.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--link", type=float, default=0.0, help="width of the link in MB/s; 0: as wide as loopback")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="syncova-remote-") as name, running("s3", Path(name) / "server") as server:
        place = Path(name)
        make_tree(place / "tree", given.megabytes)
        with far(server.port, given.milliseconds / 1000, given.link) as port:
            times = [one_round(server, port, place) for _ in range(given.rounds)]
    link = f"{given.link:g} MB/s" if given.link else "as wide as loopback"
    say(f"{given.megabytes} MB, {given.milliseconds:g} ms each way, {link}, {os.cpu_count()} cores")
    for what, ours, bare in (("backup", 0, 1), ("restore", 2, 3)):
        mine = statistics.median(each[ours] for each in times)
        theirs = statistics.median(each[bare] for each in times)
        say(f"{what:8} {mine:7.2f} s   bare {theirs:7.2f} s   {theirs / mine:5.2f} x")
    return 0


def one_round(server: Server, port: int, place: Path) -> tuple[float, float, float, float]:
    """Return the seconds of a backup, of its bare upload, of a restore and of its bare download."""
    name = secrets.token_hex(4)
    make_repository(open_storage(server.location(name), server.credentials))
    location = server.location(name, port)
    backup = timed(lambda: run_agent(place, "backup", "-r", location, "--path", str(place / "tree")))
    stored = server.directory / BUCKET / name
    copy = place / "copy"
    shutil.copytree(stored, copy)
    # This server hashes what is stored when it is first read; who comes first would pay for both.
    run_rclone(server.port, "hashsum", "md5", "--download", "--output-file", os.devnull, f":s3:{BUCKET}/{name}")
    upload = timed(lambda: run_rclone(port, "copy", str(copy), f":s3:{BUCKET}/{name}-bare"))
    restore = timed(
        lambda: run_agent(place, "restore", "-r", location, "--backup", "latest", "--target", str(place / "back"))
    )
    shutil.rmtree(copy)
    download = timed(lambda: run_rclone(port, "copy", f":s3:{BUCKET}/{name}", str(copy)))
    assert open_repository(open_storage(server.location(name), server.credentials), PASSWORD)
    for each in (copy, place / "back", stored, server.directory / BUCKET / f"{name}-bare"):
        shutil.rmtree(each)
    return backup, upload, restore, download


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")


def timed(act: Callable[[], None]) -> float:
    """Return the seconds that an act takes."""
    begun = time.monotonic()
    act()
    return time.monotonic() - begun


def make_tree(tree: Path, megabytes: int) -> None:
    """Make files of 16 MiB and of 256 KiB in equal parts, of bytes that do not compress."""
    tree.mkdir(parents=True)
    for number in range(megabytes // 32):
        (tree / f"large {number}").write_bytes(os.urandom(16 << 20))
        for small in range(64):
            (tree / f"small {number} {small}").write_bytes(os.urandom(256 << 10))


def run_agent(place: Path, *words: str) -> None:
    """Run the program as users do."""
    password = place / "password"
    password.write_bytes(PASSWORD)
    password.chmod(0o600)
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "HOME": str(place)}
    command = [sys.executable, "-m", "agents.runtime", *words, "--password-file", str(password), "--quiet"]
    subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL)


def run_rclone(port: int, *words: str) -> None:
    """Copy with rclone's defaults."""
    settings = {
        "RCLONE_S3_PROVIDER": "Rclone",
        "RCLONE_S3_ENDPOINT": f"http://127.0.0.1:{port}",
        "RCLONE_S3_ACCESS_KEY_ID": KEY_ID,
        "RCLONE_S3_SECRET_ACCESS_KEY": SECRET,
        "RCLONE_CONFIG": "/dev/null",
    }
    subprocess.run([rclone(), *words], check=True, env={**os.environ, **settings}, stdin=subprocess.DEVNULL)


@contextlib.contextmanager
def far(port: int, seconds: float, link: float) -> Iterator[int]:
    """Run the proxy in a process of its own; give its port."""
    command = [sys.executable, "-m", "tests.engine.storage.proxy", str(port), str(seconds), str(link)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(10)


if __name__ == "__main__":
    sys.exit(main())
