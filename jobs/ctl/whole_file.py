"""A file that is there whole or not at all: written under a name of its own, and named as asked once it is complete.

Owns that, and what may stand in its place. What is in it may be secret: only its owner may read it.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from repositories.console.failures import CommandError, OutputLostError
from repositories.engine.display import show_text

Emit = Callable[[bytes], None]


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


@contextlib.contextmanager
def whole_file(target: Path, *, replace: bool) -> Iterator[Emit]:
    """Give the function that takes the bytes; on leaving without an error the file is there, else nothing is.

    Raises CommandError where another has come in its place meanwhile, OutputLostError where it cannot be written.
    """
    name = str(target)
    part = target.with_name(f".syncova-{secrets.token_hex(8)}.part")
    with _told(name):
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            yield lambda data: _write_all(descriptor, data, name)
            with _told(name):
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        with _told(name):
            _put(part, target, replace=replace)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
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
