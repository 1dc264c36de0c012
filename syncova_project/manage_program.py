"""The program manage.py: Django's commands, whose errors come as one JSON object too where --json is given (E8).

Owns the edge alone: what a command line that is not understood, or a command that refuses, says and exits with, and so
where the database is away or nobody reads what is printed.
"""

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand, CommandError, SystemCheckError

from repositories.console import exits
from repositories.console.entry import terminal_for
from repositories.console.failures import Failure
from repositories.console.terminal import silence
from syncova_project.command_lines import tell_error, tell_refused
from syncova_project.database_faults import is_away, reason_of, sqlstate_of
from syncova_project.error_shape import UNAVAILABLE, answer_to
from syncova_project.errors import ConfigurationError, SyncovaError


def run(words: Sequence[str]) -> None:
    """Run the command that `words` (the program's name first) name; raises SystemExit where it fails."""
    try:
        _Commands(list(words)).execute()
        sys.stdout.flush()
    except SystemExit as end:
        # Django prints what a command raises, and exits while it handles it.
        if isinstance(end.__context__, CommandError):
            tell_error(words[1:], error_shape_of(end.__context__))
        raise
    except BrokenPipeError:
        _be_quiet()
        raise SystemExit(exits.FAILED) from None
    except Exception as error:
        known = None if "--traceback" in words else _database_failure(error)
        if known is None:
            raise
        with contextlib.suppress(OSError):
            terminal_for(words[1:]).failure(known)
        raise SystemExit(known.exit_code) from None


def error_shape_of(error: CommandError) -> dict[str, object]:
    """Return a command's error in the API's shape; what it comes from knows its code and its fields."""
    cause = error.__cause__
    if isinstance(cause, SyncovaError):
        return answer_to(cause).body()
    kind = ConfigurationError if isinstance(error, SystemCheckError) else SyncovaError
    code = "USAGE" if error.returncode == exits.USAGE else kind.code
    message = " ".join(str(error).split())
    return {"error": {"code": code, "message": message, "hint": ""}}


def _database_failure(error: Exception) -> Failure | None:
    """Return how a command fails that needs a database and has none; None for any other error."""
    if isinstance(error, ImproperlyConfigured) and not settings.DATABASES["default"].get("NAME"):
        told = "there is no database: SYNCOVA_DATABASE_URL is not set"
        return Failure(ConfigurationError.code, told, "./syncova up -d starts one")
    if not is_away(error):
        return None
    # What has answered is there, and needs no start.
    hint = UNAVAILABLE.hint if sqlstate_of(error) else "./syncova up -d starts it"
    return Failure(UNAVAILABLE.code, f"the database does not answer now: {reason_of(error)}", hint)


def _be_quiet() -> None:
    # The interpreter flushes stdout once more at its end and would print a traceback then.
    with contextlib.suppress(OSError):
        silence(sys.stdout)


class _Commands(ManagementUtility):
    """Django's utility; whatever command it runs, its parser tells programs too why it refuses."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command of this name; exits with 2 where there is none."""
        try:
            command = super().fetch_command(subcommand)
        except SystemExit:
            # It has told people; of the exit codes of all commands, 1 is that of one that ran.
            tell_refused(self.argv[1:], f"Unknown command: {subcommand!r}", hint="see ./syncova manage help")
            raise SystemExit(exits.USAGE) from None
        _tell_refusals(command, self.argv[1:])
        return command


def _tell_refusals(command: BaseCommand, words: Sequence[str]) -> None:
    make = command.create_parser

    def create_parser(prog_name: str, subcommand: str, **named: Any) -> Any:
        parser = make(prog_name, subcommand, **named)
        refuse = parser.error

        def error(message: str) -> Any:
            tell_refused(words, message, hint=f"see ./syncova manage {subcommand} --help")
            refuse(message)

        # Django names the parser's class in a place that nobody can reach.
        setattr(parser, "error", error)  # noqa: B010
        return parser

    setattr(command, "create_parser", create_parser)  # noqa: B010
