"""`./syncova ctl repository freeze | unfreeze`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Argument, Option

from jobs.ctl import shapes
from jobs.ctl.api import Api
from jobs.ctl.names import find_repository
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import OutputOptions
from repositories.console.terminal import terminal_of
from repositories.engine.display import show_text


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeOptions(OutputOptions):
    """What `freeze` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]
    reason: Annotated[str | None, Option("--reason", metavar="TEXT", help="Why; shown to all who wait.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfreezeOptions(OutputOptions):
    """What `unfreeze` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]
    adopt: Annotated[bool, Option("--adopt", help="A swapped medium is the right one from now on.")] = False


class Freeze:
    """Freezes a repository."""

    NAME = "freeze"
    HELP = "Freeze a repository: no backup starts on it any more, what runs goes on. Restores stay possible."
    EXAMPLES = ("freeze vault --reason 'the disk makes noises'",)
    Options = FreezeOptions

    @staticmethod
    def run(options: FreezeOptions) -> int:
        """Freeze it; the same reason twice is one freeze."""
        if options.reason is None:
            raise CommandError("--reason is missing", hint="say why: everybody who waits will read it")
        return _change(options, options.repository, "freeze", {"reason": options.reason})


class Unfreeze:
    """Clears every freeze of a repository."""

    NAME = "unfreeze"
    HELP = "Clear every freeze of a repository, so that waiting runs may start."
    EXAMPLES = ("unfreeze vault", "unfreeze vault --adopt")
    Options = UnfreezeOptions

    @staticmethod
    def run(options: UnfreezeOptions) -> int:
        """Clear them; repeating that is harmless."""
        return _change(options, options.repository, "unfreeze", {"adopt_observed_id": options.adopt})


def _change(options: OutputOptions, name: str, action: str, body: Mapping[str, Any]) -> int:
    terminal, api = terminal_of(options), Api(find_server())
    shown = api.post(f"repositories/{find_repository(api, name)['id']}/{action}", body)
    takes = "yes" if shown["accepts_backups"] else f"no: {show_text(shown['refusal_reason'])}"
    terminal.table([("name", show_text(shown["name"])), ("takes backups", takes)])
    if shown["swapped"]:
        seen, adopted = shapes.text(shown["observed_repository_id"]), shapes.text(shown["repository_id"])
        terminal.warning(f"its medium is {seen}, adopted was {adopted}; without --adopt the next run freezes it again")
    terminal.document(shown)
    return exits.DONE
