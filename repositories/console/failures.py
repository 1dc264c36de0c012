"""How a command fails: the errors of the command line itself, and any error as code, message and hint.

Owns the translation alone; printing is `terminal`'s. Must not catch anything.
"""

from typing import ClassVar

from msgspec import Struct

from repositories.console import exits
from repositories.engine.errors import EngineError
from syncova_project.errors import ConfigurationError, SyncovaError


class Failure(Struct, frozen=True):
    """An error as every command shows it: one line, one hint, one exit code."""

    code: str
    message: str
    hint: str = ""
    exit_code: int = exits.FAILED


class CommandError(Exception):
    """A command cannot do what was asked; the message names the thing and the reason, the hint the next step."""

    code: ClassVar[str] = "USAGE"
    exit_code: ClassVar[int] = exits.USAGE

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class LocationMissingError(CommandError):
    """No repository was named."""

    code = "REPOSITORY_MISSING"


class PasswordMissingError(CommandError):
    """No password was given and there is no terminal to ask on."""

    code = "PASSWORD_MISSING"


class PasswordUnreadableError(CommandError):
    """The named password file or command gives no usable password."""

    code = "PASSWORD_UNREADABLE"


class FileUnreadableError(CommandError):
    """A file that an option names cannot be read."""

    code = "FILE_UNREADABLE"


class OutputLostError(CommandError):
    """The result cannot be written: standard output is closed, or what it leads to is full or broken."""

    code = "OUTPUT_LOST"
    exit_code = exits.FAILED


class ConfirmationMissingError(CommandError):
    """What cannot be taken back lightly needs a yes, and there is no terminal to ask on."""

    code = "CONFIRMATION_MISSING"


class StoppedError(CommandError):
    """The command was interrupted (Ctrl-C or a signal), or its question was not answered."""

    code = "INTERRUPTED"
    exit_code = exits.INTERRUPTED


class ReportedFailureError(Exception):
    """Carries a failure that another process has already worded."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Interrupted(BaseException):
    """SIGINT or SIGTERM arrived; unwinds to the entry, which exits with 130 or 143.

    On the way, whoever knows it fills in what was `done` until then, and the `hint` that fits.
    """

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code
        self.done = ""
        self.hint = "run the command again"


def describe(error: Exception) -> Failure | None:
    """Return `error` as a failure when it is one of ours, else None."""
    if isinstance(error, ReportedFailureError):
        return error.failure
    if isinstance(error, EngineError | CommandError):
        return Failure(error.code, error.message, error.hint, error.exit_code)
    if isinstance(error, SyncovaError):
        code = exits.USAGE if isinstance(error, ConfigurationError) else exits.FAILED
        return Failure(error.code, error.message, error.hint, code)
    return None


def interruption(error: Interrupted) -> Failure:
    """Return an interruption as a failure."""
    how = "interrupted" if error.exit_code == exits.INTERRUPTED else "terminated"
    message = f"{how}: {error.done}" if error.done else how
    return Failure(StoppedError.code, message, error.hint, error.exit_code)
