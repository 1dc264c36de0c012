"""How options are declared, and those that every command has, as typed values. Reads nothing.

Marks of our own, since the library that parses command lines and shows help takes longer to import than many a command
takes: `verbs` turns them into the library's, `plain_words` reads most command lines without it.
"""

from dataclasses import dataclass
from typing import Annotated

AUTO, JSON = "auto", "json"


class Option:
    """An option: how it is written, what help says of it, the name of its value, and bounds where that is a number."""

    __slots__ = ("help", "max", "metavar", "min", "names")

    def __init__(
        self, *names: str, help: str, metavar: str | None = None, min: int | None = None, max: int | None = None
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.min = min
        self.max = max


class Argument:
    """All words that are no options; `metavar` shows them in the usage line."""

    __slots__ = ("hidden", "metavar")

    def __init__(self, *, metavar: str, hidden: bool = False) -> None:
        self.metavar = metavar
        self.hidden = hidden


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How a command tells its result."""

    json: Annotated[bool, Option("--json", help="Print exactly one JSON object, also on failure.")] = False
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print results and errors only.")] = False
    verbose: Annotated[bool, Option("--verbose", "-v", help="Print details too.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryOptions(OutputOptions):
    """Which repository, and what opens it. A password is never an argument."""

    repository: Annotated[
        str | None,
        Option("--repository", "-r", metavar="LOCATION", help="The repository; else SYNCOVA_REPOSITORY."),
    ] = None
    password_file: Annotated[
        str | None, Option("--password-file", metavar="FILE", help="File that holds the password or recovery code.")
    ] = None
    password_command: Annotated[
        str | None,
        Option("--password-command", metavar="COMMAND", help="Program that prints the password (run without a shell)."),
    ] = None
    insecure_no_password: Annotated[
        bool, Option("--insecure-no-password", help="The published empty password: no secrecy at all.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LongOptions(RepositoryOptions):
    """A command that works on a repository for a while."""

    progress: Annotated[
        str, Option("--progress", metavar="auto|json|none", help="Progress on stderr: for people, as JSON lines, none.")
    ] = AUTO
