"""`./syncova ctl job list | show | run | pause | resume | delete`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.names import find_job, find_repository
from jobs.ctl.questions import confirm
from jobs.ctl.run_end import await_end, exit_code_of
from jobs.ctl.run_page import tell_run
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.options import OutputOptions
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_duration, show_text


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions(OutputOptions):
    """A verb on one job."""

    job: Annotated[str, Argument(metavar="JOB", help="Its name or id.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions(OutputOptions):
    """What `job list` takes."""

    search: Annotated[str | None, Option("--search", metavar="TEXT", help="Part of the name.")] = None
    repository: Annotated[str | None, Option("--repository", "-r", metavar="NAME", help="Of this repository.")] = None
    paused: Annotated[bool, Option("--paused", help="Only paused jobs.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(JobOptions):
    """What `job run` takes."""

    wait: Annotated[bool, Option("--wait", help="Wait for its end and exit as the run ended.")] = False
    accept_new_root: Annotated[
        bool, Option("--accept-new-root", help="Confirm what its sources hold now: empty, or not mounted any more.")
    ] = False
    ignore_windows: Annotated[
        bool, Option("--ignore-windows", help="Start whatever windows say; needs the right runs.ignore_windows.")
    ] = False
    ignore_dependencies: Annotated[
        bool, Option("--ignore-dependencies", help="Start whatever the jobs did that it waits for.")
    ] = False


class List:
    """Lists jobs by name."""

    NAME = "list"
    HELP = "List the jobs with their last result and next run."
    EXAMPLES = ("list", "list --repository vault --json")
    Options = ListOptions

    @staticmethod
    def run(options: ListOptions) -> int:
        """Print the list."""
        terminal, api = terminal_of(options), Api(find_server())
        query: Json = {"search": options.search, "limit": 200, "status": "paused" if options.paused else None}
        if options.repository is not None:
            query["repository"] = find_repository(api, options.repository)["id"]
        jobs = list(api.every("jobs", "jobs", query))
        if jobs:
            terminal.columns(("NAME", "STATUS", "LAST", "NEXT RUN", "REPOSITORY", "RUNS"), map(_row, jobs))
        else:
            terminal.line("no jobs")
        terminal.document({"jobs": jobs})
        return exits.DONE


class Show:
    """Shows one job."""

    NAME = "show"
    HELP = "Show a job: sources, schedule, last result, what it waits for."
    EXAMPLES = ("show home",)
    Options = JobOptions

    @staticmethod
    def run(options: JobOptions) -> int:
        """Print the job."""
        terminal = terminal_of(options)
        job = find_job(Api(find_server()), options.job)
        _tell(terminal, job)
        return exits.DONE


class Run:
    """Queues a run now."""

    NAME = "run"
    HELP = "Run a job now. With --wait: 0 succeeded, 3 something was skipped, else 1 or the failure's own code."
    EXAMPLES = ("run home", "run home --wait", "run home --accept-new-root --wait")
    Options = RunOptions

    @staticmethod
    def run(options: RunOptions) -> int:
        """Queue the run; with --wait say how it ended."""
        terminal, api = terminal_of(options), Api(find_server())
        asked = ("accept_new_root", "ignore_windows", "ignore_dependencies")
        order: Json = {name: True for name in asked if getattr(options, name)}
        run = api.create(f"jobs/{find_job(api, options.job)['id']}/run", order)
        if options.wait:
            terminal.note(f"run {run['id']} is queued")
            run = await_end(api, run, terminal)
        tell_run(terminal, run)
        return exit_code_of(run) if options.wait else exits.DONE


class Pause:
    """Pauses a job."""

    NAME = "pause"
    HELP = "Pause a job: nothing new starts, what waits is cancelled, what runs goes on."
    EXAMPLES = ("pause home",)
    Options = JobOptions

    @staticmethod
    def run(options: JobOptions) -> int:
        """Pause it; repeating that is harmless."""
        return _change(options, "pause")


class Resume:
    """Resumes a job."""

    NAME = "resume"
    HELP = "Resume a paused job: it plans from now on and does not run at once."
    EXAMPLES = ("resume home",)
    Options = JobOptions

    @staticmethod
    def run(options: JobOptions) -> int:
        """Resume it; repeating that is harmless."""
        return _change(options, "resume")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions(JobOptions):
    """What `job delete` takes."""

    yes: Annotated[bool, Option("--yes", "-y", help="Don't ask.")] = False


class Delete:
    """Deletes a job; its runs and backups stay."""

    NAME = "delete"
    HELP = "Delete a job. Its history and its backups stay."
    EXAMPLES = ("delete home --yes",)
    Options = DeleteOptions

    @staticmethod
    def run(options: DeleteOptions) -> int:
        """Delete it once the person is sure."""
        terminal, api = terminal_of(options), Api(find_server())
        job = find_job(api, options.job)
        if not options.yes:
            confirm(f"Delete the job {show_text(job['name'])}? Nothing backs up its sources any more.", "--yes")
        api.delete(f"jobs/{job['id']}")
        terminal.line(f"deleted {show_text(job['name'])}; its history and its backups stay")
        terminal.document({"id": job["id"], "deleted": True})
        return exits.DONE


def _change(options: JobOptions, action: str) -> int:
    terminal, api = terminal_of(options), Api(find_server())
    job = api.post(f"jobs/{find_job(api, options.job)['id']}/{action}")
    terminal.table([*head(job)])
    terminal.document(job)
    return exits.DONE


def _row(job: Json) -> tuple[str, ...]:
    last = job["last_run"]
    return (
        show_text(job["name"]),
        shapes.state(job["active_run"]["phase"]) if job["active_run"] else shapes.standing(job),
        shapes.state(last["state"]) if last else shapes.NOTHING,
        shapes.next_run(job),
        show_text(job["repository"]["name"]),
        show_text(job["schedule_description"]),
    )


def head(job: Json) -> Iterator[tuple[str, str]]:
    """Yield the first lines of what is told of a job."""
    yield "job", show_text(job["name"])
    yield "status", shapes.standing(job)
    for one in job["schedules"]:
        if one["state_reason"]:
            yield "flagged", show_text(one["state_reason"])
    yield "runs", show_text(job["schedule_description"])
    yield "next run", f"{shapes.moment(job['next_run_at'])}{shapes.postponed(job)}"


def _tell(terminal: Terminal, job: Json) -> None:
    last, active = job["last_run"], job["active_run"]
    rows = [*head(job), ("repository", show_text(job["repository"]["name"]))]
    for source in job["sources"]:
        rows.append(("source", source["path"]))
        rows.extend(("  exclude", show_text(pattern)) for pattern in source["exclude_patterns"])
    rows.extend(("waits for", name) for name in shapes.waited_for(job))
    for hook in job["hooks"]:
        rows.append(("hook", f"{show_text(hook['moment'].replace('_', ' '))}: {show_text(hook['name'])}"))
    if job["start_deadline_seconds"]:
        rows.append(("starts within", show_duration(job["start_deadline_seconds"])))
    if job["max_runtime_seconds"]:
        rows.append(("runs at most", show_duration(job["max_runtime_seconds"])))
    if job["rpo_seconds"]:
        rows.append(("objective", f"planned starts at most {show_duration(job['rpo_seconds'])} apart"))
    rows.append(("last good", shapes.moment(job["last_succeeded_at"])))
    if last:
        rows.append(("last run", f"{shapes.state(last['state'])}, {shapes.moment(last['finished_at'])}"))
    if active:
        rows.append(("now", f"{shapes.state(active['phase'])}{shapes.why(active)}{shapes.silence(active)}"))
    rows.append(("id", job["id"]))
    terminal.table(rows)
    terminal.document(job)
