"""`./syncova ctl window create | change`: a window from options; --dry-run shows what it would do."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from typer import Argument, Option

from jobs.ctl.api import Api, Json
from jobs.ctl.names import find_job, find_repository, find_window
from jobs.ctl.schedule_options import seconds_of
from jobs.ctl.server import find_server
from jobs.ctl.window_words import body_of, tell_preview, tell_window
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import OutputOptions
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_text

_RECURRING: Final = ("days", "start", "length_seconds", "time_zone")
_ONCE: Final = ("starts_at", "ends_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveOptions(OutputOptions):
    """What both verbs take."""

    allowed: Annotated[bool, Option("--allowed", help="Runs start only inside.")] = False
    blackout: Annotated[bool, Option("--blackout", help="No run starts inside; so it is unless told otherwise.")] = (
        False
    )
    days: Annotated[str | None, Option("--days", metavar="DAYS", help="mon,tue; else every day.")] = None
    at: Annotated[str | None, Option("--at", metavar="HH:MM", help="When it opens on these days.")] = None
    length: Annotated[str | None, Option("--for", metavar="TIME", help="How long it stays open: 10h, 30min.")] = None
    time_zone: Annotated[str | None, Option("--time-zone", metavar="ZONE", help="Of its days and time; else UTC.")] = (
        None
    )
    start: Annotated[str | None, Option("--from", metavar="ISO", help="When it opens once: 2026-12-24T00:00Z.")] = None
    until: Annotated[str | None, Option("--until", metavar="ISO", help="When it is over.")] = None
    repository: Annotated[str | None, Option("--repository", "-r", metavar="NAME", help="Of this repository.")] = None
    job: Annotated[str | None, Option("--job", metavar="JOB", help="Of this job.")] = None
    kind: Annotated[
        tuple[str, ...], Option("--kind", metavar="KIND", help="What it holds; else backup and prune. Repeat it.")
    ] = ()
    dry_run: Annotated[bool, Option("--dry-run", "-n", help="Tell what it would do; save nothing.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateOptions(SaveOptions):
    """What `window create` takes."""

    name: Annotated[str, Argument(metavar="NAME")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions(SaveOptions):
    """What `window change` takes."""

    window: Annotated[str, Argument(metavar="WINDOW", help="Its name or id.")]
    name: Annotated[str | None, Option("--name", metavar="NAME", help="Its new name.")] = None
    everywhere: Annotated[bool, Option("--everywhere", help="Of no single repository or job any more.")] = False


class Create:
    """Makes a window."""

    NAME = "create"
    HELP = "Make a window: when nothing may start (--blackout), or when it may (--allowed). What runs goes on."
    EXAMPLES = (
        "create 'office hours' --days mon,tue,wed,thu,fri --at 08:00 --for 10h --time-zone Europe/Berlin",
        "create nights --allowed --at 22:00 --for 8h --repository vault --dry-run",
        "create move --from 2026-12-24T00:00:00Z --until 2026-12-27T00:00:00Z",
    )
    Options = CreateOptions

    @staticmethod
    def run(options: CreateOptions) -> int:
        """Make it, and say which objectives it breaks."""
        terminal, api = terminal_of(options), Api(find_server())
        body = {"name": options.name, "type": "blackout"} | _given(options) | _owner(api, options)
        if options.dry_run:
            return _foretell(terminal, api, body)
        return _saved(terminal, api, api.create("windows", body))


class Change:
    """Changes a window."""

    NAME = "change"
    HELP = "Change a window. What is not given stays; what waits is planned anew at once."
    EXAMPLES = ("change 'office hours' --for 9h", "change nights --repository vault --dry-run")
    Options = ChangeOptions

    @staticmethod
    def run(options: ChangeOptions) -> int:
        """Change it, and say which objectives it breaks."""
        terminal, api = terminal_of(options), Api(find_server())
        window, given = find_window(api, options.window), _given(options)
        body = body_of(window)
        # One shape replaces the other whole.
        other = _RECURRING if any(name in given for name in _ONCE) else _ONCE
        if any(name in given for name in (*_RECURRING, *_ONCE)):
            body = {name: value for name, value in body.items() if name not in other}
        body |= given | _owner(api, options)
        if options.name is not None:
            body["name"] = options.name
        if options.everywhere:
            body |= {"repository_id": None, "job_id": None}
        if options.dry_run:
            return _foretell(terminal, api, body | {"replaces": window["id"]})
        return _saved(terminal, api, api.put(f"windows/{window['id']}", body))


def _given(options: SaveOptions) -> dict[str, Any]:
    if options.allowed and options.blackout:
        raise CommandError("--allowed and --blackout exclude each other", hint="give one")
    values = {
        "type": "allowed" if options.allowed else "blackout" if options.blackout else None,
        "days": [day.strip() for day in options.days.split(",")] if options.days is not None else None,
        "start": options.at,
        "length_seconds": seconds_of(options.length, "--for") if options.length is not None else None,
        "time_zone": options.time_zone,
        "starts_at": options.start,
        "ends_at": options.until,
        "kinds": list(options.kind) or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _owner(api: Api, options: SaveOptions) -> dict[str, Any]:
    if options.repository is not None and options.job is not None:
        raise CommandError("--repository and --job exclude each other", hint="give one")
    if options.repository is not None:
        return {"repository_id": find_repository(api, options.repository)["id"], "job_id": None}
    if options.job is not None:
        return {"job_id": find_job(api, options.job)["id"], "repository_id": None}
    return {}


def _foretell(terminal: Terminal, api: Api, body: Json) -> int:
    preview = api.post("windows/preview", body)
    tell_preview(terminal, preview)
    terminal.document(preview)
    return exits.DONE


def _saved(terminal: Terminal, api: Api, window: Json) -> int:
    tell_window(terminal, api, window)
    for sentence in window["warnings"]:
        terminal.warning(show_text(sentence))
    terminal.document(window)
    return exits.DONE
