"""`syncova-repo diff`: what differs between two backups."""

import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from repositories.cli.arguments import LOCATION_RULE, expect
from repositories.cli.spooled import print_spooled
from repositories.console.options import Argument, Option, RepositoryOptions
from repositories.console.repository_access import exit_code_of, open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_path, show_text, show_time
from repositories.engine.process.paths import inner_path

if TYPE_CHECKING:
    from repositories.engine.browse.difference import Change, Summary
    from repositories.engine.manifest.backups import Backup
    from repositories.engine.repository import Repository

NAME = "diff"
HELP = (
    "Show what differs between two backups, or at PATH of both: + added, - removed, M other content, type or target, "
    "m (with --metadata) other mode, owner, time or attributes alone. The exit code is 0 whether they differ or not: "
    f"1 is for failures. {LOCATION_RULE}"
)
EXAMPLES = (
    "diff /mnt/backups/home 3fa2b1c0 latest",
    "diff -r /mnt/backups/home 3fa2b1c0 latest documents --metadata --json",
    "diff -r /mnt/backups/home 3fa2b1c0 latest --stat",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `diff` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] BACKUP BACKUP [PATH]", hidden=True)] = ()
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    metadata: Annotated[bool, Option("--metadata", help="List what differs in its metadata alone, too.")] = False
    stat: Annotated[bool, Option("--stat", help="Print figures only.")] = False


def run(options: Options) -> int:
    """Print the differences in the order of the backups; a lost inventory ends with 13."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.browse.difference import Summary, differences
    from repositories.engine.process.what_is_left import choose_backup

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options, most=3)
    first, second, path = expect(rest, ("BACKUP", "BACKUP", "PATH"), optional=1)
    repository = open_here(location, options, terminal, in_part=True)
    before, after = (choose_backup(repository, each, options.source) for each in (first, second))
    for mark, backup in (("-", before), ("+", after)):
        told = f"backup {backup.short_id} of {show_text(backup.source_name)}, {show_time(backup.received_ns)}"
        terminal.note(f"{mark} {told}")
    summary = Summary()
    with repository.begin_read():
        inner = inner_path(os.fsencode(path), after.root.source.id)
        changes = _counted(differences(repository.reader(), before, after, inner), summary)
        shown = (change for change in changes if not options.stat and (options.metadata or not change.only_metadata))
        _print(terminal, _head(terminal, repository, (before, after)), shown, summary)
    return exit_code_of(terminal)


def _counted(changes: "Iterator[Change]", summary: "Summary") -> "Iterator[Change]":
    for change in changes:
        summary.count(change)
        yield change


def _head(terminal: Terminal, repository: "Repository", backups: "tuple[Backup, Backup]") -> dict[str, Any]:
    """Return what JSON tells of the two backups."""
    from repositories.engine.process.describe import backup_fields
    from repositories.engine.process.label_fields import said_now

    if not terminal.json:
        return {}
    said = said_now(repository)
    return {name: backup_fields(each, said) for name, each in zip(("before", "after"), backups, strict=True)}


def _print(terminal: Terminal, head: dict[str, Any], changes: "Iterator[Change]", summary: "Summary") -> None:
    if terminal.json:
        tail = lambda: {"summary": dataclasses.asdict(summary)}  # noqa: E731  (asked for when all is counted)
        print_spooled(terminal, head, "changes", map(_change_fields, changes), tail)
        return
    terminal.lines(map(_line, changes))
    counts = (
        f"{summary.added:,} added, {summary.removed:,} removed, {summary.changed:,} changed",
        f"{summary.metadata_only:,} in metadata alone",
    )
    sizes = f"{show_bytes(summary.added_bytes)} came, {show_bytes(summary.removed_bytes)} went"
    terminal.line(f"{', '.join(counts)}; {sizes}")


def _line(change: "Change") -> str:
    sizes = " > ".join(f"{each.size:,}" for each in (change.before, change.after) if each is not None)
    what = ",".join(change.aspects)
    return f"{_mark(change)} {what:<14} {sizes:>14}  {show_path(change.path or b'.')}"


def _mark(change: "Change") -> str:
    if change.before is None:
        return "+"
    if change.after is None:
        return "-"
    return "m" if change.only_metadata else "M"


def _change_fields(change: "Change") -> dict[str, Any]:
    from repositories.engine.display import path_fields
    from repositories.engine.process.describe import entry_fields

    kind = {"+": "added", "-": "removed", "M": "changed", "m": "metadata"}[_mark(change)]
    fields: dict[str, Any] = {"change": kind, **path_fields(change.path or b"."), "aspects": list(change.aspects)}
    for name, entry in (("before", change.before), ("after", change.after)):
        if entry is not None:
            told = entry_fields(change.path, entry)
            fields[name] = {key: value for key, value in told.items() if key not in ("path", "path_base64")}
    return fields
