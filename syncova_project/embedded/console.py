"""What the stack's commands print: plain lines, nothing secret unless a person sits at a terminal."""

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from syncova_project.errors import SyncovaError
from syncova_project.log import single_line


@dataclass(frozen=True, slots=True)
class Console:
    """Standard output for progress, standard error for warnings and errors."""

    quiet: bool = False
    verbose: bool = False

    def say(self, text: str) -> None:
        """Print a line of progress."""
        if not self.quiet:
            _print(text, sys.stdout)

    def detail(self, text: str) -> None:
        """Print a step that only -v shows."""
        if self.verbose:
            _print(text, sys.stdout)

    def answer(self, text: str) -> None:
        """Print what was asked for, also when quiet."""
        _print(text, sys.stdout)

    def warn(self, text: str) -> None:
        """Print a warning."""
        _print(f"syncova: warning: {text}", sys.stderr)

    def fail(self, error: SyncovaError) -> None:
        """Print an error and its next step in one line."""
        _print(f"syncova: {error.message} {error.hint}".rstrip(), sys.stderr)

    def reveal(self, label: str, secret: Path) -> None:
        """Show a kept secret on a terminal; a pipe or a file gets its path only."""
        if sys.stdout.isatty() and not self.quiet:
            _print(f"{label}: {secret.read_text(encoding='utf-8').strip()}", sys.stdout)


def _print(text: str, stream: TextIO) -> None:
    # A terminal that was closed, or a full disk behind a redirection, must not end the stack.
    with contextlib.suppress(OSError):
        stream.write("\n".join(single_line(line) for line in text.split("\n")) + "\n")
        stream.flush()
