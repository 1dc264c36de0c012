"""`./syncova ctl repository register | list`."""

from dataclasses import dataclass
from typing import Annotated, Final

from typer import Argument, Option

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.patience import looks
from jobs.ctl.refusals import EXIT_CODES
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.failures import CommandError, Failure, ReportedFailureError
from repositories.console.options import OutputOptions, RepositoryOptions
from repositories.console.passwords import read_password
from repositories.console.repository_access import split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_text

_NEXT: Final = {
    "WRONG_PASSWORD": "register it again under the same name, with the right password",
    "REPOSITORY_NOT_FOUND": "make it first: ./syncova repo create LOCATION; then register it again",
    "REPOSITORY_ALREADY_REGISTERED": "use the registered one: several jobs can share a repository",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterOptions(RepositoryOptions):
    """What `register` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="NAME [LOCATION]", hidden=True)] = ()
    group: Annotated[str, Option("--group", metavar="NAME", help="Workers that reach its medium.")] = "default"
    wait: Annotated[int, Option("--wait", metavar="SECONDS", min=0, help="How long to wait for its opening.")] = 60


class Register:
    """Registers a repository that `./syncova repo create` made, and waits until a worker has opened it."""

    NAME = "register"
    HELP = (
        "Register a repository that exists on its medium (./syncova repo create makes one), and wait until a worker "
        "has opened it. Leave LOCATION out with -r or SYNCOVA_REPOSITORY."
    )
    EXAMPLES = (
        "register home /mnt/backups/home --password-file ~/.backup-password",
        "register home -r /mnt/backups/home --group nas --wait 0",
    )
    Options = RegisterOptions

    @staticmethod
    def run(options: RegisterOptions) -> int:
        """Register, then say what the worker found."""
        if not options.words:
            raise CommandError("NAME is missing", hint="see ./syncova ctl repository register --help")
        terminal = terminal_of(options)
        location, rest = split_location(options.words[1:], options)
        if rest:
            raise CommandError(
                f"there is one argument too many: {show_text(rest[0])}", hint="leave it out, or quote what has blanks"
            )
        api = Api(find_server())
        body = {"name": options.words[0], "location": location, "worker_group": options.group}
        registered = api.create("repositories", {**body, "password": read_password(options, terminal)})
        terminal.note(f"registered {show_text(registered['name'])}; waiting for a worker of group {options.group}")
        return _tell(terminal, _await_opening(api, registered, options.wait), options)


def _await_opening(api: Api, registered: Json, seconds: int) -> Json:
    shown = registered
    for _ in looks(seconds):
        shown = api.get(f"repositories/{registered['id']}")
        if shown["state"] != "registering":
            break
    return shown


def _tell(terminal: Terminal, shown: Json, options: RegisterOptions) -> int:
    if shown["state"] == "failed":
        code = shown["state_code"]
        hint = _NEXT.get(code, "mend it and register it again under the same name")
        if code == "REPOSITORY_NOT_FOUND" and shown["repository_id"] is not None:
            # A new one in the place of a file system that is not mounted would make things worse.
            hint = "it was opened before: is its medium mounted?"
        raise ReportedFailureError(Failure(code, shown["state_reason"], hint, EXIT_CODES.get(code, exits.FAILED)))
    if shown["state"] == "registering" and options.wait:
        group = show_text(shown["worker_group"])
        message = f"no worker of group {group} opened {show_text(shown['name'])} within {options.wait} s"
        hint = "it stays registered and is opened when one is there: ./syncova ctl repository list"
        raise ReportedFailureError(Failure("REPOSITORY_NOT_OPENED", message, hint))
    terminal.table([("name", show_text(shown["name"])), ("state", shapes.state(shown["state"])), ("id", shown["id"])])
    terminal.document(shown)
    return exits.DONE


def trouble(shown: Json) -> str:
    """Return why the last run could not open a repository, "" when it could."""
    told = shown["trouble"]
    if told is None:
        return ""
    return f"could not be opened since {shapes.exact(told['since'])}: {show_text(told['reason'])} ({told['code']})"


def _takes(shown: Json) -> str:
    if not shown["accepts_backups"]:
        return f"no: {show_text(shown['refusal_reason'])}"
    return f"yes, but it {trouble(shown)}" if trouble(shown) else "yes"


class List:
    """Lists every repository, also those that take no backups, with the reason."""

    NAME = "list"
    HELP = "List the repositories, and why one takes no backups."
    EXAMPLES = ("list", "list --json")
    Options = OutputOptions

    @staticmethod
    def run(options: OutputOptions) -> int:
        """Print the list."""
        terminal = terminal_of(options)
        answer = Api(find_server()).get("repositories")
        rows = [
            (
                show_text(one["name"]),
                shapes.state(one["state"]),
                _takes(one),
                show_text(one["worker_group"]),
                show_text(one["location"]),
            )
            for one in answer["repositories"]
        ]
        if rows:
            terminal.columns(("NAME", "STATE", "TAKES BACKUPS", "GROUP", "LOCATION"), rows)
        else:
            terminal.line("no repositories")
        terminal.document(answer)
        return exits.DONE
