"""`./syncova ctl status`: the last good backup of each job, its next run, what waits and why."""

from collections.abc import Iterator

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.repository_verbs import trouble
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.options import OutputOptions
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_text

NAME = "status"
HELP = "Show the last good backup of each job, its next run, and what waits and why."
EXAMPLES = ("status", "status --json")
Options = OutputOptions


def run(options: OutputOptions) -> int:
    """Print the state of everything on one screen."""
    terminal, api = terminal_of(options), Api(find_server())
    jobs = list(api.every("jobs", "jobs", {"limit": 200}))
    repositories = api.get("repositories")["repositories"]
    waiting = list(api.every("runs", "runs", {"status": "queued", "limit": 200, "ordering": "created_at"}))
    running = list(api.every("runs", "runs", {"status": "running", "limit": 200}))
    _tell(terminal, jobs, repositories, [*running, *waiting])
    terminal.document(
        {"url": api.url, "jobs": jobs, "repositories": repositories, "running": running, "waiting": waiting}
    )
    return exits.DONE


def _tell(terminal: Terminal, jobs: list[Json], repositories: list[Json], active: list[Json]) -> None:
    if jobs:
        terminal.columns(("JOB", "STATUS", "LAST", "LAST GOOD BACKUP", "NEXT RUN"), map(_row, jobs))
    else:
        terminal.line("no jobs yet; make one with: ./syncova ctl job create")
    for line in (*_refusals(repositories), *map(_active, active)):
        terminal.line(line)


def _row(job: Json) -> tuple[str, ...]:
    last = job["last_run"]
    return (
        show_text(job["name"]),
        shapes.standing(job),
        shapes.state(last["state"]) if last else shapes.NOTHING,
        shapes.moment(job["last_succeeded_at"]),
        shapes.next_run(job),
    )


def _refusals(repositories: list[Json]) -> Iterator[str]:
    for one in repositories:
        if not one["accepts_backups"]:
            yield f"repository {show_text(one['name'])} takes no backups: {show_text(one['refusal_reason'])}"
        elif trouble(one):
            yield f"repository {show_text(one['name'])} {trouble(one)}"


def _active(run: Json) -> str:
    name = run["job"]["name"] if run["job"] else run["kind"]
    since = shapes.moment(run["started_at"] or run["created_at"])
    return f"{shapes.state(run['phase'])}: {show_text(name)}, since {since}{shapes.why(run)}{shapes.silence(run)}"
