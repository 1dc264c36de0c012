"""`./syncova ctl repository retry`: what waits for a repository that kept failing tries it now."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument

from jobs.ctl.api import Api
from jobs.ctl.names import find_repository
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.options import OutputOptions
from repositories.console.terminal import terminal_of
from repositories.engine.display import show_text

NAME = "retry"
HELP = "Let what waits for a repository that kept failing try it now, not only after the pause."
EXAMPLES = ("retry vault",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OutputOptions):
    """What `repository retry` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]


def run(options: Options) -> int:
    """Forget its failures in a row; repeating that is harmless."""
    terminal, api = terminal_of(options), Api(find_server())
    repository = api.post(f"repositories/{find_repository(api, options.repository)['id']}/breaker/reset")
    terminal.line(f"what waits for {show_text(repository['name'])} tries it at once")
    terminal.document(repository)
    return exits.DONE
