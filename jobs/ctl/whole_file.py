"""A file that is there whole or not at all: written under a name of its own, and named as asked once it is complete.

Owns that, and what may stand in its place. What is in it may be secret: only its owner may read it.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from jobs.ctl.kept_parts import KeptParts
from repositories.console.failures import CommandError, OutputLostError
from repositories.engine.display import show_text

Emit = Callable[[bytes], None]
# Never through a link.
_PLAIN: Final = os.O_CLOEXEC | os.O_NOFOLLOW


def refuse_taken(name: str, *, replace: bool) -> Path:
    """Return where the file will lie; raises CommandError for what it may not stand in the place of.

    A link is kept, and what it leads to is replaced.
    """
    if not name:
        raise CommandError("--output is empty", hint="give a path, or - for standard output")
    with _told(name):
        if not os.path.lexists(name):
            return Path(name)
        target = Path(os.path.realpath(name)) if replace else Path(name)
        mode = target.stat().st_mode if target.exists() else stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise CommandError(f"{show_text(name)} is a directory", hint="name the file in it with --output")
    if not replace:
        raise _taken(name)
    if not stat.S_ISREG(mode):
        raise CommandError(f"{show_text(name)} is no regular file, and only such are replaced", hint="use --output -")
    return target


class Draft:
    """The file under its own name; call it with the bytes that come next. `tag` says what they are of, "" nothing."""

    def __init__(self, path: Path, name: str, parts: KeptParts | None) -> None:
        """Begin with what `parts` has of it, but for its last byte, so that there is always something to ask for."""
        self.path, self._name, self._parts, self._is_on_disk = path, name, parts, False
        self.tag = (parts.take(path) if parts else None) or ""
        with _told(name):
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (0 if self.tag else os.O_EXCL) | _PLAIN, 0o600)
            self.length = max(os.fstat(self._descriptor).st_size - 1, 0)
            self._cut(self.length)

    def __call__(self, data: bytes) -> None:
        _write_all(self._descriptor, data, self._name)
        self.length += len(data)

    def begin_anew(self) -> None:
        """Forget what came."""
        with _told(self._name):
            self._cut(0)

    def close(self) -> None:
        """Let all of it be on the disk, and end the writing."""
        with contextlib.ExitStack() as closing:
            closing.callback(os.close, self._descriptor)
            with _told(self._name):
                os.fsync(self._descriptor)
            self._is_on_disk = True

    def give_up(self) -> None:
        """Keep what has come where it can be gone on with, else let nothing be there."""
        is_of_use = self._is_on_disk and self.tag and self.length
        with contextlib.suppress(OSError):
            if not (self._parts and is_of_use and self._parts.keep(self.path, self.tag)):
                self.path.unlink()

    def _cut(self, length: int) -> None:
        os.ftruncate(self._descriptor, length)
        self.length = os.lseek(self._descriptor, length, os.SEEK_SET)


@contextlib.contextmanager
def whole_file(target: Path, *, replace: bool, parts: KeptParts | None = None) -> Iterator[Draft]:
    """Give the draft that takes the bytes; on leaving without an error the file is there, else nothing is but, with
    `parts`, what has come.

    Raises CommandError where another has come in its place meanwhile, OutputLostError where it cannot be written.
    """
    name = str(target)
    draft = Draft(target.with_name(f".syncova-{secrets.token_hex(8)}.part"), name, parts)
    try:
        try:
            yield draft
        finally:
            draft.close()
        with _told(name):
            _put(draft.path, target, replace=replace)
    except BaseException:
        draft.give_up()
        raise


def _put(part: Path, target: Path, *, replace: bool) -> None:
    if replace:
        part.replace(target)
        return
    try:
        # Unlike a renaming it never takes the place of another.
        target.hardlink_to(part)
    except FileExistsError:
        raise _taken(str(target)) from None
    except OSError:
        # A file system without hard links has nothing better than to look first.
        if os.path.lexists(target):
            raise _taken(str(target)) from None
        part.rename(target)
    else:
        part.unlink()


def _taken(name: str) -> CommandError:
    return CommandError(f"{show_text(name)} exists already", hint="give another name with --output, or add --force")


def _write_all(descriptor: int, data: bytes, name: str) -> None:
    rest = memoryview(data)
    with _told(name):
        while rest:
            rest = rest[os.write(descriptor, rest) :]


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputLostError(
            f"{show_text(name)} cannot be written: {error.strerror}", hint="check --output"
        ) from error
