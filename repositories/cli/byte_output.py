"""Where the bytes of a dump go: standard output, or a file that is there whole or not at all.

Owns both, and their buffer. What it makes may be secret: only its owner may read it.
"""

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from repositories.console.failures import CommandError, OutputLostError
from repositories.console.terminal import Terminal
from repositories.engine.display import show_text

Data = bytes | memoryview
Emit = Callable[[Data], None]
_BUFFER: Final = 256 * 1024


@contextlib.contextmanager
def destination(output: str | None, terminal: Terminal) -> Iterator[Emit]:
    """Give the function that takes the bytes; on leaving without an error all of them are written.

    Raises CommandError for a terminal and for a file that exists, OutputLostError where no more can be written. A file
    that could not be finished is removed.
    """
    if output is None:
        if sys.stdout.isatty():
            raise CommandError(
                "a backup's bytes are not written to a terminal, which they could command",
                hint="pipe them into a program, or give --output FILE",
            )
        with _buffered(lambda data: terminal.raw(bytes(data))) as emit:
            yield emit
    else:
        with _file(output) as emit:
            yield emit


@contextlib.contextmanager
def _file(output: str) -> Iterator[Emit]:
    descriptor, new = _open(output)
    try:
        with _buffered(lambda data: _write_all(descriptor, data, output)) as emit:
            yield emit
        with _told(output):
            os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        if new:
            with contextlib.suppress(OSError):
                Path(output).unlink()
        raise


def _open(output: str) -> tuple[int, bool]:
    """Return the descriptor, and whether the file is a new one. A pipe or device is written to as it is."""
    with _told(output):
        try:
            return os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), True
        except FileExistsError:
            if stat.S_ISREG(Path(output).stat().st_mode):
                raise CommandError(
                    f"{show_text(output)} exists already", hint="give another name, or remove it first"
                ) from None
            return os.open(output, os.O_WRONLY | os.O_CLOEXEC), False


@contextlib.contextmanager
def _buffered(write: Emit) -> Iterator[Emit]:
    """Join what is small; what was given before an error is written too, as far as possible."""
    held = bytearray()

    def emit(data: Data) -> None:
        if len(held) + len(data) <= _BUFFER:
            held.extend(data)
            return
        flush()
        if len(data) >= _BUFFER:
            write(data)
        else:
            held.extend(data)

    def flush() -> None:
        if held:
            write(bytes(held))
            held.clear()

    try:
        yield emit
    except (BrokenPipeError, OutputLostError):
        raise
    except BaseException:
        with contextlib.suppress(Exception):
            flush()
        raise
    flush()


def _write_all(descriptor: int, data: Data, output: str) -> None:
    rest = memoryview(data)
    with _told(output):
        while rest:
            rest = rest[os.write(descriptor, rest) :]


@contextlib.contextmanager
def _told(output: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLostError(
            f"{show_text(output)} cannot be written: {error.strerror}", hint="check --output"
        ) from error
