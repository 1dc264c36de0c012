"""`syncova-repo ls`: what one directory of a backup holds, or everything below it."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec
from typer import Argument, Option

from repositories.cli.arguments import LOCATION_RULE, expect
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import RepositoryOptions
from repositories.console.repository_access import open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_path, show_text, show_time
from repositories.engine.process.paths import inner_path

if TYPE_CHECKING:
    from repositories.engine.manifest.backups import Backup
    from repositories.engine.manifest.entries import Entry
    from repositories.engine.repository import Repository

NAME = "ls"
HELP = f"List a directory of a backup. PATH is as it was on the source, or relative to the source. {LOCATION_RULE}"
EXAMPLES = ("ls /mnt/backups/home latest", "ls -r /mnt/backups/home 3fa2 documents --recursive --json")
_HELD_IN_MEMORY = 16 * 2**20
_LETTERS = {"directory": "d", "link": "l", "fifo": "p", "character_device": "c", "block_device": "b"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `ls` takes."""

    words: Annotated[
        tuple[str, ...],
        Argument(metavar="[LOCATION] BACKUP [PATH]", hidden=True),
    ] = ()
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    recursive: Annotated[bool, Option("--recursive", "-R", help="Everything below the directory.")] = False


def run(options: Options) -> int:
    """Print the entries in name order."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.manifest.backups import find_backup

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options, most=2)
    selector, path = expect(rest, ("BACKUP", "PATH"), optional=1)
    repository = open_here(location, options, terminal)
    backup = find_backup(repository, selector, options.source)
    # Which backup `latest` is, or a part of an id, must not be left to guessing.
    terminal.note(f"backup {backup.short_id} of {show_text(backup.source_name)}, {show_time(backup.received_ns)}")
    entries = _entries(
        repository, backup, inner_path(os.fsencode(path), backup.root.source.id), recursive=options.recursive
    )
    if terminal.json:
        _print_json(terminal, backup, entries)
    else:
        for inner, entry in entries:
            terminal.line(_line(inner, entry))
    return exits.DONE


def _entries(
    repository: "Repository", backup: "Backup", directory: bytes, *, recursive: bool
) -> Iterator[tuple[bytes, "Entry"]]:
    from repositories.engine.manifest.backups import list_directory
    from repositories.engine.manifest.entry_reader import read_below
    from repositories.engine.manifest.order import join

    named = _named(repository, backup, directory)
    if named is not None and not named.is_directory:
        yield directory, named
    elif not recursive:
        for entry in list_directory(repository, backup, directory):
            yield join(directory, entry.name), entry
    else:
        for listing in read_below(repository.reader(), backup.root.pages, directory):
            for entry, _ in listing.entries:
                yield join(listing.directory, entry.name), entry


def _named(repository: "Repository", backup: "Backup", path: bytes) -> "Entry | None":
    """Return the entry at `path` (None for the root): an empty directory and a missing one must not look the same."""
    from repositories.engine.manifest.backups import list_directory
    from repositories.engine.manifest.order import split

    if not path:
        return None
    directory, name = split(path)
    for entry in list_directory(repository, backup, directory):
        if entry.name == name:
            return entry
    raise CommandError(f"{show_path(path)} is not in backup {backup.short_id}", hint="ls shows what is")


def _print_json(terminal: Terminal, backup: "Backup", entries: Iterator[tuple[bytes, "Entry"]]) -> None:
    from repositories.engine.process.describe import backup_fields, entry_fields

    # Written out only when complete: a failure on the way must leave stdout to the error object.
    with tempfile.SpooledTemporaryFile(_HELD_IN_MEMORY) as spool:
        spool.write(b'{"backup":' + msgspec.json.encode(backup_fields(backup)) + b',"entries":[')
        comma = b""
        for inner, entry in entries:
            spool.write(comma + msgspec.json.encode(entry_fields(inner, entry)))
            comma = b",\n"
        spool.write(b"]}\n")
        spool.seek(0)
        while block := spool.read(2**20):
            terminal.raw(block)


def _line(inner: bytes, entry: "Entry") -> str:
    from repositories.engine.process.describe import entry_fields

    fields = entry_fields(inner, entry)
    target = f" -> {fields['target']}" if "target" in fields else ""
    letter = _LETTERS.get(fields["type"], "-")
    owner = f"{entry.uid}:{entry.gid}"
    when = show_time(entry.mtime_ns)
    return f"{letter}{fields['mode']} {owner:>11} {entry.size:>14,} {when}  {fields['path']}{target}"
