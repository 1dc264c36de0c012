"""Where a command writes: results to stdout, everything else to stderr, and with --json exactly one object.

Owns both streams for the whole command. Text handed to it is plain: foreign names must already be shown text
(repositories.engine.display); nothing here reads markup.
"""

import contextlib
import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

import msgspec

from repositories.console.failures import Failure, OutputLostError
from repositories.console.options import OutputOptions
from repositories.engine.display import show_text
from syncova_project import env

_LINES_HELD = 256
_RED, _YELLOW, _PLAIN = "\x1b[1;31m", "\x1b[33m", "\x1b[0m"


class Terminal:
    """The command's two streams. `quiet` hides notes, `verbose` shows details; results and errors always show."""

    def __init__(self, *, json: bool = False, quiet: bool = False, verbose: bool = False, color: bool = True) -> None:
        self.json = json
        self.quiet = quiet
        self.verbose = verbose
        self.color = color
        self.inventory_lost = False
        self.sweep_lost = False
        self._warned: list[str] = []
        # A terminal that cannot show a character gets its escape, never a traceback.
        for stream in (sys.stdout, sys.stderr):
            _soften(stream)

    @property
    def has_screen(self) -> bool:
        """Whether stderr is a terminal that a person may be looking at."""
        return sys.stderr.isatty()

    def line(self, text: str = "") -> None:
        """Print one line of the result (nothing with --json)."""
        if not self.json:
            with _output():
                sys.stdout.write(text + "\n")

    def lines(self, texts: Iterable[str]) -> None:
        """Print many lines of the result: cheaper than one by one, and never more than a few hundred held."""
        waiting = iter(texts)
        while some := list(itertools.islice(waiting, _LINES_HELD)):
            self.line("\n".join(some))

    def table(self, rows: Iterable[tuple[str, str]]) -> None:
        """Print names and values in two columns."""
        pairs = list(rows)
        width = max((len(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            self.line(f"{name:<{width}}  {value}")

    def columns(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print rows below their heads, each column as wide as its widest cell."""
        lines = [list(head), *map(list, rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            self.line("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())

    def document(self, value: Mapping[str, Any]) -> None:
        """Print the one object of --json (nothing without it), with what the engine has warned of."""
        if self.json:
            _write_bytes(msgspec.json.encode({**value, **self.warned_of}) + b"\n")

    def raw(self, data: bytes) -> None:
        """Print a part of the one object that is too large to be held at once."""
        _write_bytes(data)

    def note(self, text: str) -> None:
        """Tell something by the way, on stderr."""
        if not self.quiet:
            self._tell(text)

    def detail(self, text: str) -> None:
        """Tell what only -v shows, on stderr."""
        if self.verbose:
            self._tell(text)

    def warning(self, text: str) -> None:
        """Tell a warning, on stderr, also with -q."""
        self._tell(f"{self._paint(_YELLOW, 'warning:')} {text}")

    def engine_warning(self, text: str) -> None:
        """Tell what the engine warns of though the command goes on; --json shows it as well."""
        self._warned.append(text)
        self.warning(text)

    @property
    def warned_of(self) -> dict[str, Any]:
        """The one object's fields for such warnings, in the order in which they came; empty where there were none.

        Where a repository is looked at without its inventory or a sweep, `inventory_lost` or `sweep_lost` says so.
        """
        warned: dict[str, Any] = {"warned": list(self._warned)} if self._warned else {}
        lost = {"inventory_lost": self.inventory_lost, "sweep_lost": self.sweep_lost}
        return {**warned, **{name: True for name, is_lost in lost.items() if is_lost}}

    def note_lost_sweep(self) -> None:
        """Take note that a sweep of the repository is lost and was looked past."""
        self.sweep_lost = True

    def failure(self, failure: Failure, **fields: Any) -> None:
        """Tell why the command failed: one line and a hint on stderr, with --json also the one object on stdout.

        `fields` stand beside the error in that object.
        """
        self._tell(f"{self._paint(_RED, 'error:')} {show_text(failure.message)}")
        if failure.hint:
            self._tell(f"hint: {show_text(failure.hint)}")
        error = {"code": failure.code, "message": failure.message, "hint": failure.hint}
        self.document({"error": error, **fields})

    def flush(self) -> None:
        """Write out what is buffered.

        Raises BrokenPipeError or OutputLostError here, rather than the interpreter a traceback at its end.
        """
        with _output():
            sys.stdout.flush()

    def _paint(self, color: str, text: str) -> str:
        return f"{color}{text}{_PLAIN}" if self.color and self.has_screen else text

    def _tell(self, text: str) -> None:
        try:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        except BrokenPipeError:
            raise
        except OSError:
            # Nobody can be told; the work itself must not fail for that.
            silence(sys.stderr)


def terminal_of(options: OutputOptions) -> Terminal:
    """Return the terminal that a command's options describe."""
    return Terminal(json=options.json, quiet=options.quiet, verbose=options.verbose, color=color_wanted())


def color_wanted() -> bool:
    """Return whether the user has not asked for plain output (NO_COLOR)."""
    return not env.foreign("NO_COLOR")


def silence(stream: TextIO) -> None:
    """Lead a stream that cannot be written nowhere: what it still holds would be tried again at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextlib.contextmanager
def _output() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLostError(
            f"the result cannot be written to standard output: {error.strerror}", hint="check where the output goes"
        ) from error


def _write_bytes(data: bytes) -> None:
    with _output():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _soften(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
