"""`./syncova ctl backup list | show | ls | find`: what the server knows of backups, and what a worker sees in one."""

import base64
import datetime as dt
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from typer import Argument, Option

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.names import NameUnknownError, find_repository, is_id, remembered_job
from jobs.ctl.patience import looks
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.options import OutputOptions
from repositories.console.terminal import terminal_of
from repositories.console.times import parse_moment
from repositories.engine.display import show_bytes, show_count, show_text
from syncova_project.instants import instant, moment_at

_PAGE: Final = 1000
_MARKS: Final = {"directory": "/", "link": "@", "fifo": "|"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions(OutputOptions):
    """What `backup list` takes."""

    repository: Annotated[
        str | None, Option("--repository", "-r", metavar="REPOSITORY", help="In this one, by name or id.")
    ] = None
    job: Annotated[str | None, Option("--job", metavar="JOB", help="Of this job, be it deleted; by name or id.")] = None
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Of this source, as list names it.")] = None
    state: Annotated[str | None, Option("--state", metavar="STATE", help="complete, or partial.")] = None
    since: Annotated[str | None, Option("--since", metavar="TIME", help="Made then or later; UTC if no zone.")] = None
    until: Annotated[str | None, Option("--until", metavar="TIME", help="Made before then.")] = None
    limit: Annotated[int, Option("--limit", metavar="N", min=1, help="At most so many, newest first.")] = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OnBackup(OutputOptions):
    """A verb on one backup."""

    backup: Annotated[str, Argument(metavar="BACKUP", help="Its id, as list shows it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LsOptions(OutputOptions):
    """What `backup ls` takes."""

    backup: Annotated[str, Argument(metavar="BACKUP", help="Its id, as list shows it.")]
    path: Annotated[str, Argument(metavar="[PATH]", help="As it was on the source, or relative to it.")] = ""
    limit: Annotated[int, Option("--limit", metavar="N", min=1, help="At most so many entries.")] = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FindOptions(OutputOptions):
    """What `backup find` takes."""

    backup: Annotated[str, Argument(metavar="BACKUP", help="Its id, as list shows it.")]
    pattern: Annotated[str, Argument(metavar="PATTERN", help="*, ? and [...]; of the name, or with a / of the path.")]
    ignore_case: Annotated[bool, Option("--ignore-case", "-i", help="Upper and lower case are the same.")] = False
    limit: Annotated[int, Option("--limit", metavar="N", min=1, help="At most so many paths.")] = 10_000


class List:
    """Lists backups, newest first."""

    NAME = "list"
    HELP = "List the backups that the server knows, newest first."
    EXAMPLES = ("list", "list --job home --since 2026-11-01 --json")
    Options = ListOptions

    @staticmethod
    def run(options: ListOptions) -> int:
        """Print the list."""
        terminal, api = terminal_of(options), Api(find_server())
        found = list(itertools.islice(api.every("backups", "backups", _query(api, options)), options.limit))
        if found:
            terminal.columns(("ID", "MADE", "SOURCE", "REPOSITORY", "STATE", "SIZE", "ADDED"), map(_row, found))
        else:
            terminal.line("no backups")
        terminal.document({"backups": found})
        return exits.DONE


class Show:
    """Shows one backup."""

    NAME = "show"
    HELP = "Show a backup: where it lies, what it comes from, its figures."
    EXAMPLES = ("show 019ad1c2-7d00-7c11-8f2e-6f6f6e657273",)
    Options = OnBackup

    @staticmethod
    def run(options: OnBackup) -> int:
        """Print the backup."""
        terminal = terminal_of(options)
        shown = find_backup(Api(find_server()), options.backup)
        terminal.table(list(_facts(shown)))
        terminal.document(shown)
        return exits.DONE


class Ls:
    """Lists a directory of a backup."""

    NAME = "ls"
    HELP = "List a directory of a backup. A worker of the repository's group looks into it."
    EXAMPLES = (
        "ls 019ad1c2-7d00-7c11-8f2e-6f6f6e657273",
        "ls 019ad1c2-7d00-7c11-8f2e-6f6f6e657273 documents --json",
    )
    Options = LsOptions

    @staticmethod
    def run(options: LsOptions) -> int:
        """Print the entries in name order."""
        exact = base64.b64encode(os.fsencode(options.path)).decode("ascii")
        return _look(options, "files", {"path_base64": exact} if options.path else {}, options.limit)


class Find:
    """Finds paths in a backup."""

    NAME = "find"
    HELP = "Find paths in a backup. A worker of the repository's group looks into it."
    EXAMPLES = ("find 019ad1c2-7d00-7c11-8f2e-6f6f6e657273 '*.odt'",)
    Options = FindOptions

    @staticmethod
    def run(options: FindOptions) -> int:
        """Print what is found; nothing found is no error."""
        asked = {"pattern": options.pattern, "ignore_case": "true" if options.ignore_case else None}
        return _look(options, "find", asked, options.limit)


def find_backup(api: Api, backup: str) -> Json:
    """Return the backup with this id, refusing what is none."""
    if not is_id(backup):
        hint = "list them with: ./syncova ctl backup list"
        raise NameUnknownError(f"{show_text(backup)} is no id of a backup", hint=hint)
    return api.get(f"backups/{backup}")


def _query(api: Api, options: ListOptions) -> Json:
    return {
        "repository": None if options.repository is None else find_repository(api, options.repository)["id"],
        "job": None if options.job is None else remembered_job(api, options.job),
        "source_name": options.source,
        "state": options.state,
        "since": _moment(options.since),
        "until": _moment(options.until),
        "limit": min(options.limit, 200),
    }


def _moment(text: str | None) -> str | None:
    return None if text is None else instant(moment_at(parse_moment(text, end_of_day=False)))


def _look(options: LsOptions | FindOptions, what: str, asked: Json, limit: int) -> int:
    terminal, api = terminal_of(options), Api(find_server())
    shown = find_backup(api, options.backup)
    place = f"repositories/{shown['repository']['id']}/backups/{shown['id']}/{what}"
    pages = list(_pages(api, place, asked, limit))
    entries = [entry for page in pages for entry in page["entries"]]
    terminal.lines(f"{_kind(entry)} {entry['size']:>14,} {_when(entry)}  {_name(entry)}" for entry in entries)
    for warning in dict.fromkeys(warning for page in pages for warning in page["warnings"]):
        terminal.engine_warning(show_text(warning))
    if pages[-1]["next_cursor"] is not None:
        terminal.warning(f"there is more than {show_count(len(entries), 'entry')}: --limit N shows more")
    unread = pages[-1].get("unread", 0)
    if unread:
        terminal.warning(f"{show_count(unread, 'entry')} could not be searched: the list of the contents is damaged")
    more = pages[-1]["next_cursor"] is not None
    terminal.document({"backup": shown, "entries": entries, "more": more, "unread": unread})
    return exits.INTEGRITY if unread else exits.DONE


def _pages(api: Api, place: str, asked: Json, limit: int) -> Iterator[Json]:
    cursor, left = None, limit
    while left > 0:
        page = _answered(api, api.get(place, {**asked, "cursor": cursor, "limit": min(left, _PAGE)}))
        yield page
        cursor, left = page["next_cursor"], left - len(page["entries"])
        if cursor is None:
            return


def _answered(api: Api, answer: Json) -> Json:
    """Return the answer, waited for where the server has only said where it will be."""
    waiting = iter(looks())
    while "entries" not in answer:
        next(waiting)
        answer = api.get(f"lookups/{answer['id']}")
    return answer


def _kind(entry: Json) -> str:
    return f"{entry['mode']} {entry['uid']:>6}:{entry['gid']:<6}"


def _when(entry: Json) -> str:
    try:
        return f"{moment_at(entry['mtime_ns']).astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}"
    except OverflowError:
        return f"{entry['mtime_ns']} ns"


def _name(entry: Json) -> str:
    # The server shows paths as harmless text already.
    path = f"{entry['path']}{_MARKS.get(entry['type'], '')}"
    return f"{path} -> {entry['target']}" if "target" in entry else path


def _row(backup: Json) -> tuple[str, ...]:
    return (
        backup["id"],
        shapes.moment(backup["created_at"]),
        shapes.text(backup["source"]["name"]),
        shapes.text(backup["repository"]["name"]),
        backup["state"],
        show_bytes(backup["logical_bytes"]),
        show_bytes(backup["bytes_added"]),
    )


def _facts(shown: Json) -> Iterator[tuple[str, str]]:
    problems, origin, lineage = shown["problems"], shown["origin"], shown["lineage"]
    yield "backup", shapes.text(shown["backup_id"])
    yield "repository", shapes.text(shown["repository"]["name"])
    yield "source", shapes.text(shown["source"]["name"])
    yield "host", shapes.text(shown["source"]["host"])
    yield "made", shapes.exact(shown["created_at"]) + (" (late: its run had ended without it)" if shown["late"] else "")
    yield "state", shown["state"]
    yield "mode", f"{lineage['mode']}, compared with {shapes.text(lineage['parent'])}"
    yield "run", shapes.text(origin["run"]) + f" ({shapes.text(origin['trigger'])})"
    yield "files", f"{shown['files']:,}"
    yield "size", show_bytes(shown["logical_bytes"])
    yield "read, added", f"{show_bytes(shown['bytes_read'])}, {show_bytes(shown['bytes_added'])}"
    yield "problems", f"{problems['skipped']:,} skipped, {show_count(problems['warnings'], 'warning')}"
    yield "manifest", shapes.text(shown["manifest_id"])
