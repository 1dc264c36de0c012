"""What a refused command line tells programs: with --json one object on stdout, in the shape of every error (E8).

Owns that shape, and argparse's parser that prints it; what people read on stderr stays argparse's. Knows no command.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from syncova_project.log import single_line

JSON = "--json"


class CommandLineParser(argparse.ArgumentParser):
    """argparse's parser of this process's own command line; its parsers of subcommands do the same."""

    def error(self, message: str) -> NoReturn:
        """Say why the command line is refused, and exit with 2."""
        tell_refused(sys.argv[1:], message, hint=f"see ./{self.prog} --help")
        super().error(message)


def tell_refused(words: Sequence[str], message: str, *, hint: str) -> None:
    """Print the object that says why a command line is not understood, where `words` ask for JSON."""
    tell_error(words, {"error": {"code": "USAGE", "message": single_line(message), "hint": single_line(hint)}})


def tell_error(words: Sequence[str], shape: Mapping[str, Any]) -> None:
    """Print an error in its shape, where `words` ask for JSON: --json counts wherever it stands before two dashes."""
    own = words[: words.index("--")] if "--" in words else words
    if JSON in own:
        # Who closed the pipe, or filled the disk behind it, still gets the reason on stderr and the exit code.
        with contextlib.suppress(OSError):
            sys.stdout.write(json.dumps(shape) + "\n")
            sys.stdout.flush()
