"""`syncova-repo ls`: what one directory of a backup holds, or everything below it."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from repositories.cli.arguments import LOCATION_RULE, expect
from repositories.cli.entry_lines import facts, group, named
from repositories.console.options import Argument, Option, RepositoryOptions
from repositories.console.repository_access import exit_code_of, open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_path, show_text, show_time
from repositories.engine.process.paths import inner_path

if TYPE_CHECKING:
    from repositories.engine.manifest.backups import Backup
    from repositories.engine.manifest.entries import Entry
    from repositories.engine.repository import Repository

NAME = "ls"
HELP = (
    "List a directory of a backup. PATH is as it was on the source, or relative to the source. "
    f"With --long a ! marks what was changing while it was read. {LOCATION_RULE}"
)
EXAMPLES = ("ls /mnt/backups/home latest", "ls -r /mnt/backups/home 3fa2 documents --long --recursive")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `ls` takes."""

    words: Annotated[
        tuple[str, ...],
        Argument(metavar="[LOCATION] BACKUP [PATH]", hidden=True),
    ] = ()
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    long: Annotated[
        bool, Option("--long", "-l", help="Mode, hard-link group, owner, size (major,minor of devices) and time, too.")
    ] = False
    recursive: Annotated[bool, Option("--recursive", "-R", help="Everything below the directory.")] = False


def run(options: Options) -> int:
    """Print the entries in name order; a lost inventory ends with 13."""
    terminal = terminal_of(options)
    location, rest = split_location(options.words, options, most=2)
    selector, path = expect(rest, ("BACKUP", "PATH"), optional=1)
    repository = open_here(location, options, terminal, in_part=True, meanwhile=_import_looks)
    from repositories.engine.browse.looking import entries_of, names_of
    from repositories.engine.process.what_is_left import choose_backup

    backup = choose_backup(repository, selector, options.source)
    # Which backup `latest` is, or a part of an id, must not be left to guessing.
    terminal.note(f"backup {backup.short_id} of {show_text(backup.source_name)}, {show_time(backup.received_ns)}")
    inner = inner_path(os.fsencode(path), backup.root.source.id)
    # A single directory is read before any prune could take its pages; a whole backup may take a while.
    with repository.begin_read() if options.recursive else contextlib.nullcontext():
        if not (options.recursive or options.long or options.json):
            for lines in names_of(repository.reader(), backup, inner):
                terminal.line(lines)
            return exit_code_of(terminal)
        entries = entries_of(repository.reader(), backup, inner, recursive=options.recursive)
        _print(terminal, (repository, backup), entries, long=options.long)
    return exit_code_of(terminal)


def _import_looks() -> None:
    # Heavy; a wrong option should not wait for it.
    import repositories.engine.browse.looking
    import repositories.engine.process.what_is_left  # noqa: F401  (both are wanted soon)


def _print(
    terminal: Terminal,
    of: "tuple[Repository, Backup]",
    entries: Iterator[tuple[bytes, "Entry"]],
    *,
    long: bool,
) -> None:
    # What only --json needs, or the names alone do not, is no part of each start.
    from repositories.cli.spooled import print_spooled
    from repositories.engine.process.describe import backup_fields, entry_fields
    from repositories.engine.process.label_fields import said_now

    repository, backup = of
    if terminal.json:
        fields = (entry_fields(path, entry) for path, entry in entries)
        print_spooled(terminal, {"backup": backup_fields(backup, said_now(repository))}, "entries", fields)
        return
    terminal.lines(
        f"{facts(entry)} {group(entry):>10}  {named(path, entry)}" if long else show_path(path)
        for path, entry in entries
    )
