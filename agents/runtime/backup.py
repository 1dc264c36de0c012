"""`syncova-agent backup`: back up paths of this machine by hand, with no server."""

import socket
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from agents.runtime.backup_report import report_backup, report_broken_off
from repositories.console.engine_run import Outcome, run_engine
from repositories.console.failures import CommandError, ReportedFailureError
from repositories.console.options import LongOptions
from repositories.console.paths import absolute, exclude_rules
from repositories.console.progress_view import choose_view
from repositories.console.repository_access import access, own_paths, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import show_path
from repositories.engine.ids import uuid7
from repositories.engine.process.requests import Request, RunReference, SourceOptions, SourceRequest
from repositories.engine.throttle import parse_rate
from syncova_project import clock

NAME = "backup"
HELP = "Back up one or more paths. Each is a source of its own, with its own chain of backups."
EXAMPLES = (
    "backup -r /mnt/backups/home --path /home/alice",
    "backup -r /mnt/backups/home --path /srv --exclude '*.tmp' --bandwidth 50MB --tag weekly",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LongOptions):
    """What `backup` takes."""

    path: Annotated[tuple[str, ...], Option("--path", metavar="PATH", help="What to back up; repeatable.")] = ()
    source: Annotated[
        str | None, Option("--source", metavar="NAME", help="Name of the source. Default: <host name>:<absolute path>.")
    ] = None
    parent: Annotated[
        str | None, Option("--parent", metavar="ID", help="Compare with this backup, not the source's newest.")
    ] = None
    tag: Annotated[tuple[str, ...], Option("--tag", metavar="TAG", help="Tag of the backup; repeatable.")] = ()
    exclude: Annotated[
        tuple[str, ...], Option("--exclude", metavar="RULE", help="Leave out what matches (gitignore); repeatable.")
    ] = ()
    exclude_file: Annotated[
        tuple[str, ...], Option("--exclude-file", metavar="FILE", help="Rules from a file, one a line; repeatable.")
    ] = ()
    one_file_system: Annotated[bool, Option("--one-file-system", help="Enter no other file system.")] = False
    ignore_inode: Annotated[
        bool, Option("--ignore-inode", help="A changed inode alone is no change (some network file systems).")
    ] = False
    ignore_ctime: Annotated[bool, Option("--ignore-ctime", help="A changed ctime alone is no change.")] = False
    bandwidth: Annotated[
        str | None, Option("--bandwidth", metavar="RATE", help="Read no faster than this: 50MB, 1.5MB/s, 400Mbit.")
    ] = None
    compression: Annotated[str, Option("--compression", metavar="fast|default|max|off", help="How hard to try.")] = (
        "default"
    )
    accept_new_root: Annotated[
        bool, Option("--accept-new-root", help="Back it up although it is empty and was not the last time.")
    ] = False
    strict: Annotated[bool, Option("--strict", help="Count warnings as skipped: exit code 3.")] = False


def run(options: Options) -> int:
    """Back up in an engine child; one failed source does not stop the others."""
    terminal = terminal_of(options)
    paths = _paths(options)
    _check(options, paths)
    rate = None if options.bandwidth is None else parse_rate(options.bandwidth)
    location, _ = split_location((), options)
    view = choose_view(options.progress, terminal, clock.monotonic)
    request = _request(options, paths, terminal, location=location, rate=rate)
    started = clock.monotonic()
    outcome = Outcome()
    try:
        run_engine(request, view, terminal, outcome)
    except ReportedFailureError as error:
        # What was committed before stays: it must be told beside the reason of the end.
        return report_broken_off(terminal, request, outcome, error.failure)
    return report_backup(terminal, request, outcome, clock.monotonic() - started)


def _paths(options: Options) -> list[bytes]:
    if not options.path:
        raise CommandError("--path is missing", hint="say what to back up: --path /home")
    # One source written twice is one source: two backups of it in one run would have one id.
    return list(dict.fromkeys(absolute(path, "--path") for path in options.path))


def _check(options: Options, paths: list[bytes]) -> None:
    if len(paths) > 1 and (options.source is not None or options.parent is not None):
        raise CommandError("--source and --parent belong to one path", hint="run it once for each --path")
    if options.source is not None and not (options.source and options.source.isprintable()):
        raise CommandError("the name in --source must be plain text", hint="leave out line breaks and controls")
    for tag in options.tag:
        if not (tag and tag.isprintable()):
            raise CommandError("a tag must be plain text", hint="leave out empty tags, line breaks and controls")


def _request(options: Options, paths: list[bytes], terminal: Terminal, *, location: str, rate: int | None) -> Request:
    rules = exclude_rules(options.exclude, options.exclude_file)
    sources = tuple(_source(options, index, path, rules) for index, path in enumerate(paths))
    return Request(
        operation="backup",
        repository=access(location, options, terminal),
        run=RunReference(id=str(uuid7(SYSTEM_CLOCK.now_ns()))),
        host=socket.gethostname(),
        sources=sources,
        bandwidth_bytes_per_second=rate,
        strict=options.strict,
        compression=options.compression,
        tags=options.tag,
        skip_paths=own_paths(location),
    )


def _source(options: Options, index: int, path: bytes, rules: tuple[str, ...]) -> SourceRequest:
    return SourceRequest(
        key=str(index),
        name=options.source or f"{socket.gethostname()}:{show_path(path)}",
        path=path,
        excludes=rules,
        options=SourceOptions(
            one_file_system=options.one_file_system,
            ignore_inode=options.ignore_inode,
            ignore_ctime=options.ignore_ctime,
            accept_new_root=options.accept_new_root,
            parent=options.parent,
        ),
    )
