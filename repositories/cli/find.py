"""`syncova-repo find`: in which backups a path is, and in which versions."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from repositories.cli.entry_lines import facts, named
from repositories.cli.sizes import parse_size
from repositories.cli.spooled import print_spooled
from repositories.console.failures import CommandError
from repositories.console.options import Argument, Option, RepositoryOptions
from repositories.console.repository_access import exit_code_of, open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.console.times import parse_moment
from repositories.engine.display import show_count, show_text

if TYPE_CHECKING:
    from repositories.engine.browse.criteria import Criteria
    from repositories.engine.browse.finding import Found, Search, Version
    from repositories.engine.manifest.backups import Backup
    from repositories.engine.repository import Repository

NAME = "find"
HELP = (
    "Find paths in one backup or all, with each version and the backups that hold it. A PATTERN (*, ?, [...]) is "
    "matched with the name, or, with a slash in it, with the whole path, where * matches slashes too; one that begins "
    "with a slash is a path as it was on the source. Leave LOCATION out with -r or SYNCOVA_REPOSITORY; then all "
    "words are patterns."
)
EXAMPLES = (
    "find /mnt/backups/home '*.odt'",
    "find -r /mnt/backups/home 'documents/*' --newer 2026-11-01 --older 2026-12-01 --type f",
    "find -r /mnt/backups/home --larger 1GiB --source laptop:/home --json",
)
_TYPES = {"f": 1, "d": 2, "l": 3, "p": 4, "c": 5, "b": 6}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `find` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] [PATTERN]...", hidden=True)] = ()
    backup: Annotated[
        tuple[str, ...], Option("--backup", metavar="ID", help="Only in this backup; repeatable. Default: in all.")
    ] = ()
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    name: Annotated[tuple[str, ...], Option("--name", metavar="GLOB", help="The name matches; repeatable.")] = ()
    path: Annotated[tuple[str, ...], Option("--path", metavar="GLOB", help="The path matches; repeatable.")] = ()
    type: Annotated[
        tuple[str, ...],
        Option("--type", metavar="f|d|l|p|c|b", help="File, directory, link, FIFO, device; repeatable."),
    ] = ()
    larger: Annotated[str | None, Option("--larger", metavar="SIZE", help="Files larger than 500kB, 1GiB.")] = None
    smaller: Annotated[str | None, Option("--smaller", metavar="SIZE", help="Files smaller than this.")] = None
    newer: Annotated[
        str | None, Option("--newer", metavar="TIME", help="Modified at this time or later; UTC if no zone.")
    ] = None
    older: Annotated[str | None, Option("--older", metavar="TIME", help="Modified before this time.")] = None
    ignore_case: Annotated[bool, Option("--ignore-case", "-i", help="Upper and lower case are the same.")] = False


def run(options: Options) -> int:
    """Print what is found; nothing found is no error, pages that cannot be read end with 13, a lost inventory too."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.browse.finding import Search

    terminal = terminal_of(options)
    location, patterns = split_location(options.words, options, most=len(options.words))
    wanted = _criteria(options, patterns)
    repository = open_here(location, options, terminal, in_part=True)
    backups = _backups(repository, options)
    with repository.begin_read():
        search = Search(repository.reader(), backups, wanted)
        _print(terminal, search, (repository, backups))
    for backup, count in search.unread:
        terminal.warning(
            f"backup {backup.short_id}: {show_count(count, 'entry')} could not be searched: the list of its contents "
            "is damaged (check tells more)"
        )
    return exit_code_of(terminal, damaged=bool(search.unread))


def _criteria(options: Options, patterns: list[str]) -> "Criteria":
    from repositories.engine.browse.criteria import Criteria

    unknown = [each for each in options.type if each not in _TYPES]
    if unknown:
        raise CommandError(f"{show_text(unknown[0])} is no type", hint=f"--type takes one of {', '.join(_TYPES)}")
    wanted = Criteria(
        patterns=tuple(patterns),
        names=options.name,
        paths=options.path,
        types=frozenset(_TYPES[each] for each in options.type),
        larger=None if options.larger is None else parse_size(options.larger),
        smaller=None if options.smaller is None else parse_size(options.smaller),
        newer_ns=None if options.newer is None else parse_moment(options.newer, end_of_day=False),
        older_ns=None if options.older is None else parse_moment(options.older, end_of_day=False),
        ignore_case=options.ignore_case,
    )
    if wanted == Criteria(ignore_case=options.ignore_case):
        raise CommandError("nothing to look for is given", hint="give a PATTERN or a filter; '*' finds everything")
    return wanted


def _backups(repository: "Repository", options: Options) -> list["Backup"]:
    from repositories.engine.manifest.backups import list_backups
    from repositories.engine.process.what_is_left import choose_backup

    if options.backup:
        chosen = {
            found.manifest_id for found in (choose_backup(repository, each, options.source) for each in options.backup)
        }
        return [backup for backup in list_backups(repository) if backup.manifest_id in chosen]
    return [each for each in list_backups(repository) if options.source is None or each.source_name == options.source]


def _print(terminal: Terminal, search: "Search", of: "tuple[Repository, list[Backup]]") -> None:
    repository, backups = of
    if terminal.json:
        head = {"backups": _backups_fields(repository, backups)}
        unread = lambda: {  # noqa: E731  (asked for when all has been read)
            "unread": [{"short_id": backup.short_id, "entries": count} for backup, count in search.unread]
        }
        print_spooled(terminal, head, "found", map(_found_fields, search.results()), unread)
        return
    count = itertools.count()
    terminal.lines(_lines(search.results(), count))
    terminal.note(f"{show_count(next(count), 'path')} found in {show_count(len(backups), 'backup')}")


def _lines(results: "Iterator[Found]", count: Iterator[int]) -> Iterator[str]:
    source = None
    for found in results:
        if found.source_name != source:
            source = found.source_name
            yield f"source {show_text(source)}"
        for version in found.versions:
            yield f"{facts(version.entry)}  {_span(version)}  {named(found.path, version.entry)}"
        next(count)


def _span(version: "Version") -> str:
    first, last = version.backups[0].short_id, version.backups[-1].short_id
    return first if len(version.backups) == 1 else f"{first}..{last} ({len(version.backups):,})"


def _backups_fields(repository: "Repository", backups: list["Backup"]) -> list[dict[str, Any]]:
    from repositories.engine.process.describe import backup_fields
    from repositories.engine.process.label_fields import said_now

    said = said_now(repository)
    told = [backup_fields(each, said) for each in backups]
    return [{name: fields[name] for name in ("id", "short_id", "source", "time", "tags")} for fields in told]


def _found_fields(found: "Found") -> dict[str, Any]:
    from repositories.engine.display import path_fields
    from repositories.engine.process.describe import entry_fields

    versions = []
    for version in found.versions:
        fields = entry_fields(found.path, version.entry)
        fields.pop("path_base64", None)
        del fields["path"]
        versions.append({**fields, "backups": [backup.short_id for backup in version.backups]})
    return {"source": show_text(found.source_name), **path_fields(found.path), "versions": versions}
