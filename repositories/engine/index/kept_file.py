"""A file of this machine that keeps what was read of a repository, so that it need not be read again.

Owns its form and its life: private to the user, authenticated as a whole by a key that only who opens the repository
has, replaced in one step, bounded in number. Whatever is wrong with it, it counts as not there; nothing that goes wrong
with it may keep a backup or a restore from going on. It is read, not mapped: what was authenticated cannot change
afterwards, and a file that becomes shorter cannot end the process.
"""

import contextlib
import fcntl
import os
import stat
import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

import blake3
import msgspec

from repositories.engine.constant_time import equal
from repositories.engine.fresh_files import make_private_directories

INDEX: Final = ".index"
"""How the names of kept indexes end."""
MOST_BYTES: Final = 4 * 1024**3
"""More is not kept: some 80 million chunks."""
FILES_KEPT: Final = 16
"""Of the repositories that a machine uses, the files of so many are kept."""
_MAGIC: Final = b"SYNCKEPT" + bytes((1, array("I").itemsize, sys.byteorder == "big", 0))
_MAC_LENGTH: Final = 32
_COUNT: Final = struct.Struct("<I")
_MOST_SECTIONS: Final = 64
_MOST_HEAD: Final = 1024
_Section = bytes | bytearray | memoryview


class KeptFile(msgspec.Struct, frozen=True):
    """One file below `directory`; its name is the repository's id and `suffix`. Safe beside other processes."""

    directory: str
    repository_id: str
    suffix: str
    key: bytes

    def __repr__(self) -> str:
        return f"KeptFile({self.path!r})"

    @property
    def path(self) -> str:
        """Return where it lies."""
        return os.path.join(self.directory, f"{self.repository_id}{self.suffix}")

    def load(self) -> list[bytearray] | None:
        """Return the sections that were saved, or None if there is no such file that this repository's key made."""
        with contextlib.suppress(OSError, MemoryError, struct.error):
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                found = os.fstat(descriptor)
                if stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES + _MOST_HEAD:
                    return self._read(file, found.st_size)
        return None

    def save(self, sections: Sequence[_Section]) -> bool:
        """Take the place of what is there, whole or not at all; return whether that was done."""
        if sum(map(len, sections)) > MOST_BYTES:
            return False
        with contextlib.suppress(OSError):
            make_private_directories(self.directory, 3)
            with _written_alone(self._draft) as file:
                if file is not None:
                    self._write(file, sections)
                    os.replace(self._draft, self.path)
                    forget_oldest(self.directory, self.suffix)
                    return True
        return False

    @property
    def _draft(self) -> str:
        return os.path.join(self.directory, f".{self.repository_id}{self.suffix}")

    def _read(self, file: BinaryIO, size: int) -> list[bytearray] | None:
        head = file.read(len(_MAGIC) + _MAC_LENGTH + _COUNT.size)
        if not head.startswith(_MAGIC):
            return None
        count: int = _COUNT.unpack_from(head, len(_MAGIC) + _MAC_LENGTH)[0]
        if count > _MOST_SECTIONS:
            return None
        packed = file.read(8 * count)
        lengths = struct.unpack(f"<{count}Q", packed)
        if len(head) + len(packed) + sum(lengths) != size:
            return None
        mac = blake3.blake3(packed, key=self.key)
        sections = [bytearray(length) for length in lengths]
        for section in sections:
            if file.readinto(section) != len(section):  # type: ignore[attr-defined]
                return None
            mac.update(section)
        return sections if equal(mac.digest(), head[len(_MAGIC) : -_COUNT.size]) else None

    def _write(self, file: BinaryIO, sections: Sequence[_Section]) -> None:
        lengths = struct.pack(f"<{len(sections)}Q", *map(len, sections))
        mac = blake3.blake3(lengths, key=self.key)
        for section in sections:
            mac.update(section)
        file.write(b"".join((_MAGIC, mac.digest(), _COUNT.pack(len(sections)), lengths)))
        for section in sections:
            file.write(section)
        file.flush()


@contextlib.contextmanager
def _written_alone(draft: str) -> Iterator[BinaryIO | None]:
    """Yield an empty file, None if another process is writing it now. It is removed unless it was renamed.

    One draft for each file, so that those of killed processes do not pile up: the next one writes over it.
    """
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        if not _is_locked(descriptor) or not _is_at(draft, descriptor):
            yield None
            return
        file.truncate(0)
        try:
            yield file
        finally:
            if _is_at(draft, descriptor):
                os.unlink(draft)


def _is_locked(descriptor: int) -> bool:
    """Take the lock of a file; return whether that could be done at once."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_at(path: str, descriptor: int) -> bool:
    """Tell whether the name still means this file: another process may have renamed it before we had the lock."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    return False


def forget_oldest(directory: str, suffix: str) -> None:
    """Remove the files of this kind that were written the longest ago, but for the newest `FILES_KEPT`."""
    names = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(suffix)]
    found = sorted(names, key=lambda path: os.stat(path).st_mtime_ns)
    for path in found[:-FILES_KEPT]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
