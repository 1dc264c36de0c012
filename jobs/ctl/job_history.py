"""`./syncova ctl job preview | decisions | revisions`: when a job is due, why it did not run, what it was before."""

import itertools
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.job_verbs import JobOptions
from jobs.ctl.names import find_job, remembered_job
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.terminal import terminal_of
from repositories.engine.display import show_text


@dataclass(frozen=True, slots=True, kw_only=True)
class CountOptions(JobOptions):
    """A verb that lists something of one job."""

    limit: Annotated[int, Option("--limit", metavar="N", min=1, max=1000, help="At most so many.")] = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions(CountOptions):
    """What `job preview` takes."""

    start: Annotated[
        str | None,
        Option("--from", metavar="ISO", help="Those after this instant, with its offset: 2026-10-24T12:00Z; else now."),
    ] = None


class Preview:
    """Shows when a job is due."""

    NAME = "preview"
    HELP = "Show a job's next planned instants: shifted clocks, windows with when the run starts, and what merges."
    EXAMPLES = (
        "preview home",
        "preview home --limit 400 --json",
        "preview home --from 2027-03-27T12:00:00+01:00 --limit 3",
    )
    Options = PreviewOptions

    @staticmethod
    def run(options: PreviewOptions) -> int:
        """Print them."""
        if options.start == "":
            # An address has no way to tell what is empty from what is not given.
            raise CommandError("--from is empty", hint="give an instant, such as 2026-10-24T12:00Z; without it, now")
        terminal, api = terminal_of(options), Api(find_server())
        job = find_job(api, options.job)
        answer = api.get(f"jobs/{job['id']}/preview", {"count": options.limit, "from": options.start})
        for sentence in answer["descriptions"]:
            terminal.line(show_text(sentence))
        if answer["paused"]:
            terminal.line("paused: nothing runs until `job resume`; it would be due:")
        if answer["instants"]:
            headings = ("PLANNED", "LOCAL", "NOTES", "STARTS", "WINDOW", "MERGES INTO")
            terminal.columns(headings, map(_instant_row, answer["instants"]))
        else:
            terminal.line(_without_instants(job))
        terminal.document(answer)
        return exits.DONE


class Decisions:
    """Says why planned instants were no run of their own."""

    NAME = "decisions"
    HELP = "Say why planned instants of a job did not become runs of their own, newest first."
    EXAMPLES = ("decisions home",)
    Options = CountOptions

    @staticmethod
    def run(options: CountOptions) -> int:
        """Print them."""
        terminal, api = terminal_of(options), Api(find_server())
        found = _some(api, options, "decisions")
        if found:
            terminal.columns(("FIRST", "LAST", "WHY"), map(_decision_row, found))
        else:
            terminal.line("every planned instant became a run")
        terminal.document({"decisions": found})
        return exits.DONE


class Revisions:
    """Lists what a job was."""

    NAME = "revisions"
    HELP = "List what was changed of a job, when and by whom, newest first; a run keeps the revision that it ran with."
    EXAMPLES = ("revisions home", "revisions home --json")
    Options = CountOptions

    @staticmethod
    def run(options: CountOptions) -> int:
        """Print them."""
        terminal, api = terminal_of(options), Api(find_server())
        found = _some(api, options, "revisions")
        terminal.columns(("REVISION", "MADE", "BY", "CHANGED"), map(_revision_row, found))
        terminal.document({"revisions": found})
        return exits.DONE


def _without_instants(job: Json) -> str:
    """Say why a job has no planned instant: by hand runs only what has no schedule but such."""
    if all(one["type"] == "manual" for one in job["schedules"]):
        return "runs by hand only"
    reasons = dict.fromkeys(show_text(one["state_reason"]) for one in job["schedules"] if one["state_reason"])
    return "; ".join(["no planned instant", *reasons])


def _some(api: Api, options: CountOptions, what: str) -> list[Json]:
    rows = api.every(f"jobs/{remembered_job(api, options.job)}/{what}", what, {"limit": min(options.limit, 200)})
    return list(itertools.islice(rows, options.limit))


def _instant_row(one: Json) -> tuple[str, ...]:
    starts = shapes.moment(one["starts_at"]) if "starts_at" in one else ""
    return (
        shapes.moment(one["utc"]),
        show_text(one["local"]),
        show_text(", ".join(one["notes"]).replace("_", " ")),
        starts,
        show_text(one["window"]["name"]) if "window" in one else "",
        shapes.moment(one["merges_into"]) if "merges_into" in one else "",
    )


def _decision_row(one: Json) -> tuple[str, ...]:
    last = shapes.moment(one["last_at"]) if one["last_at"] != one["first_at"] else ""
    return shapes.moment(one["first_at"]), last, show_text(one["sentence"])


def _revision_row(one: Json) -> tuple[str, ...]:
    changed = ", ".join(one["changed"]).replace("_", " ") or shapes.NOTHING
    return str(one["number"]), shapes.moment(one["created_at"]), show_text(one["created_by"]), show_text(changed)
