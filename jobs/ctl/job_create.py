"""`./syncova ctl job create`: a job from options."""

import base64
import os
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from typer import Argument, Option

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.names import find_job, find_repository
from jobs.ctl.refusals import RefusedError, option_of
from jobs.ctl.schedule_options import missed_of, schedule_of, seconds_of, without_kind
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import OutputOptions
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_text
from repositories.engine.throttle import parse_rate

NAME = "create"
HELP = "Make a job. Without one of --every, --hourly, --daily, --weekly, --monthly and --cron it runs by hand only."
EXAMPLES = (
    "create home --source /home --repository vault --daily 02:00 --time-zone Europe/Berlin",
    "create mail --source /var/mail --repository vault --weekly sat,sun@22:00",
    "create etc --source /etc --source /usr/local --repository vault --every 6h --exclude '*.tmp'",
)


class ScheduleNotAvailableError(CommandError):
    """The server has no such kind of schedule."""

    code: ClassVar[str] = "SCHEDULE_NOT_AVAILABLE"
    exit_code: ClassVar[int] = exits.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OutputOptions):
    """What `job create` takes."""

    name: Annotated[str, Argument(metavar="NAME")]
    source: Annotated[tuple[str, ...], Option("--source", metavar="PATH", help="What to back up; repeat it.")] = ()
    repository: Annotated[str | None, Option("--repository", "-r", metavar="NAME", help="Where to.")] = None
    daily: Annotated[str | None, Option("--daily", metavar="HH:MM", help="Every day at this time.")] = None
    every: Annotated[str | None, Option("--every", metavar="TIME", help="Every 6h, 90min, 1d12h.")] = None
    hourly: Annotated[str | None, Option("--hourly", metavar="MINUTE", help="Each hour at this minute.")] = None
    weekly: Annotated[
        str | None, Option("--weekly", metavar="DAYS@HH:MM", help="On days of the week: sat,sun@22:00.")
    ] = None
    monthly: Annotated[
        str | None, Option("--monthly", metavar="DAYS@HH:MM", help="On days of the month: 1,15,last@02:00.")
    ] = None
    cron: Annotated[
        str | None, Option("--cron", metavar="FIELDS", help="Minute, hour, day, month, weekday: '0 2 * * mon-fri'.")
    ] = None
    time_zone: Annotated[str | None, Option("--time-zone", metavar="ZONE", help="Of the times given; else UTC.")] = None
    missed: Annotated[
        str | None,
        Option("--missed", metavar="once|never|TIME", help="If the server was away: run once, if not TIME ago."),
    ] = None
    exclude: Annotated[tuple[str, ...], Option("--exclude", metavar="RULE", help="As in .gitignore; repeat it.")] = ()
    priority: Annotated[str, Option("--priority", metavar="CLASS", help="low, normal, high or critical.")] = "normal"
    bandwidth: Annotated[str | None, Option("--bandwidth", metavar="RATE", help="Of reading: 50MB, 400Mbit.")] = None
    max_attempts: Annotated[int | None, Option("--max-attempts", metavar="N", help="Tries of a run, 1 to 10.")] = None
    rpo: Annotated[
        str | None, Option("--rpo", metavar="TIME", help="Longest time between two planned starts: 26h, 8d.")
    ] = None
    start_deadline: Annotated[
        str | None, Option("--start-deadline", metavar="TIME", help="End a run that cannot start for so long.")
    ] = None
    max_runtime: Annotated[
        str | None, Option("--max-runtime", metavar="TIME", help="End a run that takes longer: 12h.")
    ] = None
    hook: Annotated[
        tuple[str, ...],
        Option("--hook", metavar="MOMENT=NAME", help="before-job=dump; also after-job, on-failure …; repeat it."),
    ] = ()
    after: Annotated[
        tuple[str, ...],
        Option("--after", metavar="JOB", help="Start only while its last run succeeded; repeat it."),
    ] = ()
    strict: Annotated[bool, Option("--strict", help="Count warnings as skipped objects.")] = False


def run(options: Options) -> int:
    """Make the job and say when it runs next."""
    if not options.source:
        raise CommandError("--source is missing", hint="name what to back up: --source PATH")
    if options.repository is None:
        raise CommandError("--repository is missing", hint="list them with: ./syncova ctl repository list")
    kinds = ("every", "hourly", "daily", "weekly", "monthly", "cron")
    schedule = schedule_of({kind: getattr(options, kind) for kind in kinds}, options.time_zone)
    if options.missed is not None and schedule["type"] == "manual":
        raise without_kind("--missed")
    schedule |= missed_of(options.missed)
    terminal, body = terminal_of(options), _body(options, schedule)
    api = Api(find_server())
    if options.after:
        body["depends_on"] = [find_job(api, name)["id"] for name in options.after]
    body["repository_id"] = find_repository(api, options.repository)["id"]
    job = _created(api, body)
    _tell(terminal, job)
    return exits.DONE


def _created(api: Api, body: Json) -> Json:
    try:
        return api.create("jobs", body)
    except RefusedError as error:
        # The server knows its kinds of schedule, so that a newer one takes what this program already offers.
        if error.failure.code == "VALIDATION_FAILED" and "schedules.0.type" in error.fields:
            kind = body["schedule"]["type"]
            raise ScheduleNotAvailableError(
                f"this server cannot plan {kind} schedules yet", hint="use --daily or --every"
            ) from error
        raise


def _body(options: Options, schedule: dict[str, Any]) -> dict[str, Any]:
    excludes = list(options.exclude)
    body: dict[str, Any] = {
        "name": options.name,
        "schedule": schedule,
        "sources": [source_of(path, excludes) for path in options.source],
        "priority": options.priority,
        "strict": options.strict,
        "hooks": [hook_of(text) for text in options.hook],
    }
    if options.bandwidth is not None:
        body["bandwidth_limit_bps"] = parse_rate(options.bandwidth)
    if options.max_attempts is not None:
        body["max_attempts"] = options.max_attempts
    lengths = {
        "rpo_seconds": options.rpo,
        "start_deadline_seconds": options.start_deadline,
        "max_runtime_seconds": options.max_runtime,
    }
    return body | {name: seconds_of(text, option_of(name)) for name, text in lengths.items() if text is not None}


def hook_of(text: str) -> dict[str, str]:
    """Return a hook of the API from `before-job=dump`."""
    moment, equals, name = text.partition("=")
    if not equals or not name:
        raise CommandError(f"--hook: {show_text(text)} is not MOMENT=NAME", hint="write it as before-job=dump-database")
    return {"moment": moment.replace("-", "_"), "name": name}


def source_of(path: str, excludes: list[str]) -> dict[str, Any]:
    """Return a source of the API; its path is sent as exact bytes, since names on disk are not always text."""
    exact = os.fsencode(os.path.abspath(path))
    return {
        "type": "filesystem",
        "path_base64": base64.b64encode(exact).decode("ascii"),
        "exclude_patterns": excludes,
    }


def _tell(terminal: Terminal, job: Json) -> None:
    terminal.table(
        [
            ("job", show_text(job["name"])),
            ("runs", show_text(job["schedule_description"])),
            ("next run", f"{shapes.moment(job['next_run_at'])}{shapes.postponed(job)}"),
            ("id", job["id"]),
        ]
    )
    terminal.document(job)
