"""`syncova-repo dump`: a file of a backup, or a directory as a tar archive, without restoring it."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from repositories.cli.arguments import LOCATION_RULE, expect
from repositories.cli.byte_output import destination
from repositories.console.failures import CommandError
from repositories.console.options import Argument, Option, RepositoryOptions
from repositories.console.repository_access import exit_code_of, open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import path_fields, show_count, show_path, show_text, show_time
from repositories.engine.process.paths import inner_path

if TYPE_CHECKING:
    from repositories.engine.browse.archive import Dumped
    from repositories.engine.manifest.backups import Backup
    from repositories.engine.repository import Repository

NAME = "dump"
HELP = (
    "Write a file of a backup to standard output, or a directory (the whole backup without PATH) as a tar archive in "
    "PAX format: extended attributes, ACLs, hard links, holes and times in ns are in it, names are relative to the "
    "source. Damaged data ends with exit code 13 and an archive that no tar takes for a whole one. "
    f"Nothing is written to a terminal. {LOCATION_RULE}"
)
EXAMPLES = (
    "dump /mnt/backups/home latest documents/letter.odt --output letter.odt",
    "dump -r /mnt/backups/home 3fa2 documents --format tar --output documents.tar",
    "dump -r /mnt/backups/home latest --output home.tar --skip-damaged",
)
AUTO, TAR, RAW = "auto", "tar", "raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `dump` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] BACKUP [PATH]", hidden=True)] = ()
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    output: Annotated[
        str | None, Option("--output", "-o", metavar="FILE", help="Write to this new file, not to standard output.")
    ] = None
    format: Annotated[
        str, Option("--format", metavar="auto|tar|raw", help="tar, the bytes of one file, or what fits PATH.")
    ] = AUTO
    skip_damaged: Annotated[
        bool, Option("--skip-damaged", help="Leave damaged objects out of an archive and go on; still exit code 13.")
    ] = False


def run(options: Options) -> int:
    """Write the bytes; 13 when something damaged was met, whether it was left out or ended the dump.

    With a lost inventory it is 13, too: what is written is whole, but `latest` may not be the newest.
    """
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.process.what_is_left import choose_backup

    terminal = terminal_of(options)
    _require_sense(options)
    location, rest = split_location(options.words, options, most=2)
    selector, path = expect(rest, ("BACKUP", "PATH"), optional=1)
    repository = open_here(location, options, terminal, in_part=True)
    backup = choose_backup(repository, selector, options.source)
    terminal.note(f"backup {backup.short_id} of {show_text(backup.source_name)}, {show_time(backup.received_ns)}")
    inner = inner_path(os.fsencode(path), backup.root.source.id)
    with repository.begin_read():
        kind, done = _dump(terminal, options, (repository, backup), inner)
    _tell(terminal, done)
    if options.output is not None:
        terminal.document(_document((repository, backup), inner, kind, done))
    return exit_code_of(terminal, damaged=done.damaged > 0)


def _require_sense(options: Options) -> None:
    if options.format not in (AUTO, TAR, RAW):
        raise CommandError(f"{show_text(options.format)} is no format", hint="--format takes auto, tar or raw")
    if options.json and options.output is None:
        raise CommandError("with --json standard output is for its object", hint="give --output FILE for the bytes")
    if options.output == "":
        raise CommandError("--output is empty", hint="give a path")


def _dump(terminal: Terminal, options: Options, of: "tuple[Repository, Backup]", inner: bytes) -> "tuple[str, Dumped]":
    from repositories.engine.browse.dump import dump_archive, dump_file, dumped_object
    from repositories.engine.manifest.entries import EntryType

    repository, backup = of
    source = repository.reader()
    # What is not there, or is no file, is told before a file is made.
    path, entry = dumped_object(source, backup, inner)
    is_file = entry is not None and entry.type == EntryType.FILE
    kind = options.format if options.format != AUTO else RAW if is_file else TAR
    if kind == RAW and not is_file:
        raise CommandError(f"{show_path(path or b'.')} is no regular file", hint="dump it with --format tar")
    with destination(options.output, terminal) as emit:
        if kind == RAW:
            return kind, dump_file(source, path, entry, emit)
        return kind, dump_archive(source, backup, inner, emit, skip_damaged=options.skip_damaged)


def _tell(terminal: Terminal, done: "Dumped") -> None:
    for path in done.damaged_paths:
        terminal.warning(f"damaged, left out: {show_path(path or b'.')}")
    if done.damaged:
        terminal.warning(f"{show_count(done.damaged, 'object')} left out; check tells what is damaged")


def _document(of: "tuple[Repository, Backup]", path: bytes, kind: str, done: "Dumped") -> dict[str, Any]:
    from repositories.engine.process.describe import backup_fields
    from repositories.engine.process.label_fields import said_now

    repository, backup = of
    return {
        "backup": backup_fields(backup, said_now(repository)),
        **path_fields(path or b"."),
        "format": kind,
        "members": done.members,
        "bytes": done.written,
        "damaged": done.damaged,
        "damaged_paths": [path_fields(path or b".") for path in done.damaged_paths],
    }
