"""Looks for canaries in files and texts, and says of each where it is, by kind and offset, never what it is.

Reads what is there as it is and unpacked from gzip. What is gone or closed by the time it is looked at is passed by.
"""

import contextlib
import errno
import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.canaries import STEM, TOKEN, seen_in
from tests.canaries_allowed import SECRET_FILE, SECRETS, rule_for

_CHUNK = 4 << 20
# More than the longest canary, so that none is missed where a chunk ends.
_OVERLAP = 256
_AROUND = 40


@dataclass
class Sweep:
    """What was found where nothing may be, and which rules were met."""

    found: list[str] = field(default_factory=list)
    met: set[str] = field(default_factory=set)
    looked_at: int = 0

    def text(self, place: str, said: str | bytes) -> None:
        """Look at what something said."""
        data = said.encode("utf-8", "surrogateescape") if isinstance(said, str) else said
        self._look(place, data, 0, b"")

    def tree(self, root: str | os.PathLike[str]) -> None:
        """Look at every file below `root`, at its name and what it holds; other file systems are left alone."""
        for path, status in files_below(os.fsencode(root)):
            shown = f"file {os.fsdecode(path)}"
            self._look(f"name of {shown}", os.path.basename(path), 0, b"", names=True)
            with contextlib.suppress(OSError):
                self._file(path, shown, status)

    def _file(self, path: bytes, shown: str, status: os.stat_result) -> None:
        self.looked_at += status.st_blocks * 512
        if status.st_size <= _OVERLAP and self._is_secret_file(path, status):
            return
        before = b""
        for at, data in chunks_of(path):
            if at == 0 and data.startswith(b"\x1f\x8b"):
                self._unpacked(path, shown)
            self._look(shown, before + data, at - len(before), before)
            before = data[-_OVERLAP:]

    def _is_secret_file(self, path: bytes, status: os.stat_result) -> bool:
        data = b"".join(data for _, data in chunks_of(path)).strip()
        alone = len(data.split()) == 1 and (data.startswith(STEM.encode()) or TOKEN.fullmatch(data) is not None)
        kinds = {seen.kind for seen in seen_in(data)}
        # The product's own are its owner's alone; what a test gives to a program in a file of its own is the test's.
        closed = not stat.S_IMODE(status.st_mode) & 0o077 or b"/secrets/" not in path
        if alone and closed and kinds <= {*SECRETS.split(), "hook"}:
            self.met.add(SECRET_FILE)
            return True
        return False

    def _unpacked(self, path: bytes, shown: str) -> None:
        with contextlib.suppress(OSError, EOFError, zlib.error), gzip.open(path) as stream:
            at, before = 0, b""
            while data := stream.read(_CHUNK):
                self._look(f"{shown} (unpacked)", before + data, at - len(before), before)
                at, before = at + len(data), data[-_OVERLAP:]

    def _look(self, place: str, data: bytes, offset: int, before: bytes, *, names: bool = False) -> None:
        for seen in seen_in(data):
            if seen.end <= len(before) or (names and seen.kind == "source"):
                continue
            rule = rule_for(seen.kind, place)
            if rule is not None:
                self.met.add(rule.name)
                continue
            around = data[max(0, seen.start - _AROUND) : seen.start], data[seen.end : seen.end + _AROUND]
            excerpt = f"{_shown(around[0])}<{seen.kind}>{_shown(_without_tail(around[1]))}"
            self.found.append(f"{hidden(place)}, offset {offset + seen.start}: {seen.kind}: {excerpt}")


def hidden(text: str) -> str:
    """Return a text without what canaries are recognised by, so that telling of one is none."""
    return text.replace(STEM, "<canary>")


def files_below(root: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    """Yield each regular file of the file system of `root`, once per name."""
    waiting, device = [root], None
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    device = device or status.st_dev
                    if stat.S_ISDIR(status.st_mode) and status.st_dev == device:
                        waiting.append(entry.path)
                    elif stat.S_ISREG(status.st_mode) and status.st_dev == device and status.st_size:
                        yield entry.path, status


def chunks_of(path: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield what a file holds, by offset, without its holes."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        at = 0
        while True:
            try:
                at = os.lseek(handle, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return
                raise
            end = os.lseek(handle, at, os.SEEK_HOLE)
            while at < end and (data := os.pread(handle, min(_CHUNK, end - at), at)):
                yield at, data
                at += len(data)
    finally:
        os.close(handle)


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "replace").encode("unicode_escape").decode()


def _without_tail(data: bytes) -> bytes:
    """Drop what still belongs to the canary."""
    return data.lstrip(b"-abcdefghijklmnopqrstuvwxyz0123456789")
