"""`./syncova ctl queue`: what waits, in its order, each with why it waits."""

import itertools
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.names import find_repository
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.options import OutputOptions
from repositories.console.terminal import terminal_of
from repositories.engine.display import show_text

NAME = "queue"
HELP = "List what waits, in the order in which it will be looked at, each with why it waits."
EXAMPLES = ("queue", "queue --repository vault --json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OutputOptions):
    """What `queue` takes."""

    repository: Annotated[str | None, Option("--repository", "-r", metavar="NAME", help="For this repository.")] = None
    limit: Annotated[int, Option("--limit", metavar="N", min=1, help="At most so many, first in the queue first.")] = 50


def run(options: Options) -> int:
    """Print the queue; positions are those of the whole of it."""
    terminal, api = terminal_of(options), Api(find_server())
    query: Json = {"limit": min(options.limit, 200)}
    if options.repository is not None:
        query["repository"] = find_repository(api, options.repository)["id"]
    waiting = list(itertools.islice(api.every("queue", "queue", query), options.limit))
    if waiting:
        terminal.columns(("PLACE", "PRIORITY", "WHAT", "WAITS SINCE", "WHY"), map(_row, waiting))
    else:
        terminal.line("nothing waits")
    terminal.document({"queue": waiting})
    return exits.DONE


def _row(run: Json) -> tuple[str, ...]:
    return (
        str(run["position"]),
        run["priority"],
        show_text(run["job"]["name"]) if run["job"] else f"{run['kind']} of {show_text(run['repository']['name'])}",
        shapes.moment(run["created_at"]),
        show_text(run["held"]["sentence"]) if run["held"] else shapes.NOTHING,
    )
