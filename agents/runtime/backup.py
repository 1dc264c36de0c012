"""`syncova-agent backup`: back up paths of this machine by hand, with no server."""

import socket

from agents.runtime.backup_options import Options
from agents.runtime.backup_report import report_backup, report_broken_off
from repositories.console.engine_run import Outcome, run_engine
from repositories.console.failures import CommandError, ReportedFailureError
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
    rules = tuple(rule.text for rule in exclude_rules(options.exclude, options.exclude_file))
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
            exclude_ignoring_case=options.exclude_ignore_case,
            exclude_caches=options.exclude_caches,
            reread_percent=options.reread,
        ),
    )
