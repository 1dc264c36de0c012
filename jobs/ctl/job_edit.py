"""`./syncova ctl job edit | rename`: what is given changes, all else stays; no change by others is undone unseen."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from typer import Argument, Option

from jobs.ctl.api import Api, Json
from jobs.ctl.job_create import hook_of, source_of
from jobs.ctl.job_verbs import head
from jobs.ctl.names import find_job, find_repository
from jobs.ctl.refusals import option_of
from jobs.ctl.schedule_options import missed_of, schedule_of, seconds_of
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import OutputOptions
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_text
from repositories.engine.throttle import parse_rate

NONE: Final = "none"
_KINDS: Final = ("every", "hourly", "daily", "weekly", "monthly", "cron")
# What an answer says of a schedule beside its definition.
_NOT_DEFINITION: Final = frozenset(
    {"id", "description", "next_run_at", "missed", "missed_within_seconds", "state", "state_reason"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions(OutputOptions):
    """What `job edit` takes."""

    job: Annotated[str, Argument(metavar="JOB", help="Its name or id.")]
    name: Annotated[str | None, Option("--name", metavar="NAME", help="Its new name.")] = None
    source: Annotated[
        tuple[str, ...], Option("--source", metavar="PATH", help="Back up this, and not what it did; repeat it.")
    ] = ()
    repository: Annotated[
        str | None, Option("--repository", "-r", metavar="NAME", help="Where to; earlier backups stay where they are.")
    ] = None
    daily: Annotated[str | None, Option("--daily", metavar="HH:MM", help="Every day at this time.")] = None
    every: Annotated[str | None, Option("--every", metavar="TIME", help="Every 6h, 90min, 1d12h.")] = None
    hourly: Annotated[str | None, Option("--hourly", metavar="MINUTE", help="Each hour at this minute.")] = None
    weekly: Annotated[str | None, Option("--weekly", metavar="DAYS@HH:MM", help="On days of the week.")] = None
    monthly: Annotated[str | None, Option("--monthly", metavar="DAYS@HH:MM", help="On days of the month.")] = None
    cron: Annotated[str | None, Option("--cron", metavar="FIELDS", help="Minute, hour, day, month, weekday.")] = None
    manual: Annotated[bool, Option("--manual", help="By hand only.")] = False
    time_zone: Annotated[str | None, Option("--time-zone", metavar="ZONE", help="Of its times.")] = None
    missed: Annotated[
        str | None,
        Option("--missed", metavar="once|never|TIME", help="If the server was away: run once, if not TIME ago."),
    ] = None
    exclude: Annotated[
        tuple[str, ...], Option("--exclude", metavar="RULE", help="Instead of all rules that it has; repeat it.")
    ] = ()
    no_excludes: Annotated[bool, Option("--no-excludes", help="Exclude nothing.")] = False
    priority: Annotated[str | None, Option("--priority", metavar="CLASS", help="low, normal, high or critical.")] = None
    bandwidth: Annotated[str | None, Option("--bandwidth", metavar="RATE", help="Of reading: 50MB; none.")] = None
    max_attempts: Annotated[int | None, Option("--max-attempts", metavar="N", help="Tries of a run, 1 to 10.")] = None
    rpo: Annotated[
        str | None, Option("--rpo", metavar="TIME", help="Longest time between two planned starts: 26h; none.")
    ] = None
    start_deadline: Annotated[
        str | None, Option("--start-deadline", metavar="TIME", help="End a run that cannot start for so long; none.")
    ] = None
    max_runtime: Annotated[
        str | None, Option("--max-runtime", metavar="TIME", help="End a run that takes longer; none.")
    ] = None
    hook: Annotated[
        tuple[str, ...], Option("--hook", metavar="MOMENT=NAME", help="Instead of all that it has; repeat it.")
    ] = ()
    no_hooks: Annotated[bool, Option("--no-hooks", help="Run no hook.")] = False
    strict: Annotated[bool | None, Option("--strict/--no-strict", help="Count warnings as skipped objects.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameOptions(OutputOptions):
    """What `job rename` takes."""

    job: Annotated[str, Argument(metavar="JOB", help="Its name or id.")]
    name: Annotated[str, Argument(metavar="NAME", help="Its new name.")]


class Edit:
    """Changes a job."""

    NAME = "edit"
    HELP = "Change a job. What is not given stays; a run that is due is not lost by it."
    EXAMPLES = (
        "edit home --daily 03:00 --time-zone Europe/Berlin",
        "edit home --rpo none --no-excludes",
        "edit home --repository far --priority high",
    )
    Options = EditOptions

    @staticmethod
    def run(options: EditOptions) -> int:
        """Send what was given for the state that the job has now."""
        terminal, api = terminal_of(options), Api(find_server())
        job = find_job(api, options.job)
        body = _plain(options) | _limits(options) | _sources(options, job) | _schedule(options, job)
        if options.repository is not None:
            body["repository_id"] = find_repository(api, options.repository)["id"]
        if not body:
            raise CommandError("nothing says what to change", hint="see: ./syncova ctl job edit --help")
        _send(terminal, api, job, body)
        return exits.DONE


class Rename:
    """Gives a job another name."""

    NAME = "rename"
    HELP = "Rename a job. Its history, its backups and its next run stay."
    EXAMPLES = ("rename home house",)
    Options = RenameOptions

    @staticmethod
    def run(options: RenameOptions) -> int:
        """Rename it."""
        terminal, api = terminal_of(options), Api(find_server())
        _send(terminal, api, find_job(api, options.job), {"name": options.name})
        return exits.DONE


def _send(terminal: Terminal, api: Api, job: Json, body: Json) -> None:
    changed = api.patch(f"jobs/{job['id']}", body, job["revision"])
    if changed["revision"] == job["revision"]:
        terminal.note("it was so already; nothing was changed")
    rows = [*head(changed), ("repository", show_text(changed["repository"]["name"]))]
    terminal.table([*rows, ("revision", str(changed["revision"]))])
    terminal.document(changed)


def _plain(options: EditOptions) -> Json:
    given = ("name", "priority", "max_attempts", "strict")
    body: Json = {name: value for name in given if (value := getattr(options, name)) is not None}
    if options.hook and options.no_hooks:
        raise CommandError("--hook and --no-hooks exclude each other", hint="give one")
    if options.hook or options.no_hooks:
        body["hooks"] = [hook_of(text) for text in options.hook]
    return body


def _limits(options: EditOptions) -> Json:
    """Return limits as the API takes them; `none` takes one away."""
    body: Json = {}
    if options.bandwidth is not None:
        body["bandwidth_limit_bps"] = None if options.bandwidth == NONE else parse_rate(options.bandwidth)
    lengths = {
        "rpo_seconds": options.rpo,
        "start_deadline_seconds": options.start_deadline,
        "max_runtime_seconds": options.max_runtime,
    }
    given = {name: text for name, text in lengths.items() if text is not None}
    return body | {name: None if text == NONE else seconds_of(text, option_of(name)) for name, text in given.items()}


def _sources(options: EditOptions, job: Json) -> Json:
    """Return the sources: other paths keep no rule but those given, other rules hold for all paths."""
    if options.exclude and options.no_excludes:
        raise CommandError("--exclude and --no-excludes exclude each other", hint="give one")
    rules = list(options.exclude)
    if options.source:
        return {"sources": [source_of(path, rules) for path in options.source]}
    if not (options.exclude or options.no_excludes):
        return {}
    kept = ("type", "path", "path_base64")
    return {
        "sources": [
            {name: source[name] for name in kept if name in source} | {"exclude_patterns": rules}
            for source in job["sources"]
        ]
    }


def _schedule(options: EditOptions, job: Json) -> dict[str, Any]:
    """Return the job's schedule: another one, or the one that it has with another zone or policy."""
    given = {kind: getattr(options, kind) for kind in _KINDS}
    kinds = [f"--{kind}" for kind, value in given.items() if value is not None]
    if options.manual and (kinds or options.time_zone or options.missed):
        raise CommandError("--manual goes with nothing that says when", hint="give one")
    if options.manual:
        return {"schedules": []}
    missed = missed_of(options.missed)
    if kinds:
        wanted = schedule_of(given, options.time_zone)
        # Of several schedules the server says that it cannot know which one is meant.
        present = job["schedules"][0] if len(job["schedules"]) == 1 else {}
        return {"schedule": _staying(present, wanted) | wanted | (missed or _policy(present))}
    if options.time_zone is None and not missed:
        return {}
    present = _only(job)
    zone = {} if options.time_zone is None else {"time_zone": options.time_zone}
    definition = {name: value for name, value in present.items() if name not in _NOT_DEFINITION}
    return {"schedule": definition | zone | (missed or _policy(present))}


def _staying(present: Json, wanted: Json) -> Json:
    """Return what another schedule takes over of the present one: the zone of its times, or where its grid begins."""
    name = "anchor" if wanted["type"] == "interval" else "time_zone"
    return {name: present[name]} if present.get(name) is not None else {}


def _policy(present: Json) -> Json:
    names = ("missed", "missed_within_seconds")
    return {name: present[name] for name in names if present.get(name) is not None}


def _only(job: Json) -> Json:
    schedules: list[Json] = job["schedules"]
    if len(schedules) != 1:
        why = "no schedule" if not schedules else f"{len(schedules)} schedules"
        raise CommandError(f"the job has {why}", hint="say when it runs: --daily, --every, …")
    return schedules[0]
