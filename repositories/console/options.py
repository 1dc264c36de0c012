"""The options that every command has, as typed values. Owns their names and help; reads nothing."""

from dataclasses import dataclass
from typing import Annotated

from typer import Option

AUTO, JSON = "auto", "json"


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
