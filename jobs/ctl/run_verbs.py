"""`./syncova ctl run list | show | log | cancel`."""

import itertools
from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.names import remembered_job, run_path
from jobs.ctl.run_log import print_log
from jobs.ctl.run_page import tell_run
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.options import OutputOptions
from repositories.console.terminal import terminal_of
from repositories.engine.display import show_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(OutputOptions):
    """A verb on one run."""

    run: Annotated[str, Argument(metavar="RUN", help="Its id.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions(RunOptions):
    """What `run log` takes."""

    follow: Annotated[bool, Option("--follow", "-f", help="Go on until the run has ended.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions(OutputOptions):
    """What `run list` takes."""

    job: Annotated[str | None, Option("--job", metavar="JOB", help="Of this job, be it deleted; by name or id.")] = None
    state: Annotated[str | None, Option("--state", metavar="STATE", help="queued, running, failed …")] = None
    limit: Annotated[int, Option("--limit", metavar="N", min=1, help="At most so many, newest first.")] = 20


class List:
    """Lists runs, newest first."""

    NAME = "list"
    HELP = "List the runs, newest first."
    EXAMPLES = ("list", "list --job home --state failed --json")
    Options = ListOptions

    @staticmethod
    def run(options: ListOptions) -> int:
        """Print the list."""
        terminal, api = terminal_of(options), Api(find_server())
        query: Json = {"status": options.state, "limit": min(options.limit, 200)}
        if options.job is not None:
            query["job"] = remembered_job(api, options.job)
        runs = list(itertools.islice(api.every("runs", "runs", query), options.limit))
        if runs:
            terminal.columns(("ID", "PLANNED", "JOB", "STATE", "STORED", "RESULT"), map(_row, runs))
        else:
            terminal.line("no runs")
        terminal.document({"runs": runs})
        return exits.DONE


class Show:
    """Shows one run."""

    NAME = "show"
    HELP = "Show a run: why it waits or how it ended, and each of its sources."
    EXAMPLES = ("show 019ad1c2-7d00-7c11-8f2e-6f6f6e657273",)
    Options = RunOptions

    @staticmethod
    def run(options: RunOptions) -> int:
        """Print the run."""
        terminal = terminal_of(options)
        tell_run(terminal, Api(find_server()).get(run_path(options.run)))
        return exits.DONE


class Log:
    """Prints a run's log."""

    NAME = "log"
    HELP = "Print the log of a run; with --follow until the run has ended."
    EXAMPLES = ("log 019ad1c2-7d00-7c11-8f2e-6f6f6e657273", "log 019ad1c2-7d00-7c11-8f2e-6f6f6e657273 --follow")
    Options = LogOptions

    @staticmethod
    def run(options: LogOptions) -> int:
        """Print all lines, oldest first."""
        terminal, api = terminal_of(options), Api(find_server())
        lines, truncated = print_log(terminal, api, run_path(options.run), follow=options.follow)
        if not lines:
            terminal.note("the log is empty: no worker has written to it")
        if truncated:
            terminal.warning("the log reached its bound; later lines were dropped")
        terminal.document({"lines": lines, "truncated": truncated})
        return exits.DONE


class Cancel:
    """Asks a run to end."""

    NAME = "cancel"
    HELP = "Cancel a run. A running one ends within seconds; backups that it already made stay."
    EXAMPLES = ("cancel 019ad1c2-7d00-7c11-8f2e-6f6f6e657273",)
    Options = RunOptions

    @staticmethod
    def run(options: RunOptions) -> int:
        """Ask for the end; repeating that is harmless while it runs."""
        terminal = terminal_of(options)
        run = Api(find_server()).post(f"{run_path(options.run)}/cancel")
        terminal.line(_cancelled(run))
        terminal.document(run)
        return exits.DONE


def _cancelled(run: Json) -> str:
    if run["state"] == "cancelled":
        return "cancelled"
    if run["silent_since"] is None:
        return "asked to end; its worker stops it within seconds"
    since = shapes.exact(run["silent_since"])
    return f"asked to end; its worker gave no sign of life since {since}, and if it is gone the run is ended as failed"


def _row(run: Json) -> tuple[str, ...]:
    return (
        run["id"],
        shapes.moment(run["scheduled_for"]),
        shapes.text(run["job"]["name"] if run["job"] else run["kind"]),
        shapes.state(run["phase"]),
        show_bytes(run["bytes_stored"]),
        shapes.text(_result(run)),
    )


def _result(run: Json) -> str:
    if run["silent_since"]:
        return f"no sign of life since {shapes.exact(run['silent_since'])}"
    if run["held"]:
        return str(run["held"]["sentence"])
    # Why it failed, and what to do about it.
    reason, hint = str(run["reason"]), run["failure"]["hint"] if run["failure"] else ""
    between = ";" if reason and hint and not reason.endswith(".") else ""
    return f"{reason}{between} {hint}".strip()
