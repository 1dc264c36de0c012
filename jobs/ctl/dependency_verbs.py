"""`./syncova ctl job depend`: which jobs a job waits for."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from jobs.ctl.api import Api
from jobs.ctl.names import find_job
from jobs.ctl.server import find_server
from jobs.ctl.shapes import waited_for
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import OutputOptions
from repositories.console.terminal import terminal_of
from repositories.engine.display import show_text

NAME = "depend"
HELP = "Say which jobs a job waits for: it starts only while their last runs succeeded. Replaces what was said before."
EXAMPLES = ("depend offsite --on database --on home", "depend offsite --on-none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OutputOptions):
    """What `job depend` takes."""

    job: Annotated[str, Argument(metavar="JOB", help="Its name or id.")]
    on: Annotated[tuple[str, ...], Option("--on", metavar="JOB", help="A job to wait for; repeat it.")] = ()
    on_none: Annotated[bool, Option("--on-none", help="Wait for none.")] = False


def run(options: Options) -> int:
    """Replace the job's dependencies and print them."""
    if bool(options.on) == options.on_none:
        raise CommandError("give either --on or --on-none", hint="name the jobs to wait for: --on JOB")
    terminal, api = terminal_of(options), Api(find_server())
    job, wanted = find_job(api, options.job), [find_job(api, name)["id"] for name in options.on]
    changed = api.put(f"jobs/{job['id']}/dependencies", {"depends_on": wanted})
    names = ", ".join(waited_for(changed))
    terminal.table([("job", show_text(changed["name"])), ("waits for", names or "none")])
    terminal.document(changed)
    return exits.DONE
