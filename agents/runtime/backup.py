"""`syncova-agent backup`: back up paths of this machine by hand, with no server."""

import os

from msgspec import structs

from agents.runtime.backup_options import Options
from agents.runtime.backup_report import report_backup, report_broken_off
from agents.runtime.backup_sources import sources_of
from repositories.console.engine_run import Outcome, run_engine
from repositories.console.failures import CommandError, ReportedFailureError
from repositories.console.paths import exclude_rules, misplaced
from repositories.console.progress_view import choose_view
from repositories.console.repository_access import access, own_paths, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import show_text
from repositories.engine.ids import uuid7
from repositories.engine.process.requests import Request, RunReference, SourceRequest
from repositories.engine.storage.remote_locations import is_remote
from repositories.engine.throttle import parse_rate
from syncova_project import clock

NAME = "backup"
HELP = "Back up paths, block devices, or what a command prints. Each is a source with a chain of backups of its own."
EXAMPLES = (
    "backup -r /mnt/backups/home --path /home/alice",
    "backup -r /mnt/backups/home --path /srv --exclude '*.tmp' --bandwidth 50MB --tag weekly",
    "backup -r /mnt/backups/disks --device /dev/vg/snap",
    "backup -r /mnt/backups/db --stdin db.sql -- pg_dump mydb",
)


def run(options: Options) -> int:
    """Back up in an engine child; one failed source does not stop the others."""
    terminal = terminal_of(options)
    _check(options)
    rules = exclude_rules(options.exclude, options.exclude_file)
    sources = sources_of(options, tuple(rule.text for rule in rules))
    for sentence in misplaced(rules, [source.path for source in sources]):
        terminal.warning(sentence)
    rate = None if options.bandwidth is None else parse_rate(options.bandwidth)
    location, _ = split_location((), options)
    _check_write_limit(options, location)
    view = choose_view(options.progress, terminal, clock.monotonic)
    request = _request(options, sources, terminal, location=location, rate=rate)
    started = clock.monotonic()
    outcome = Outcome()
    try:
        run_engine(request, view, terminal, outcome)
    except ReportedFailureError as error:
        # What was committed before stays: it must be told beside the reason of the end.
        return report_broken_off(terminal, request, outcome, error.failure)
    return report_backup(terminal, request, outcome, clock.monotonic() - started)


def _check(options: Options) -> None:
    if options.source is not None and not (options.source and options.source.isprintable()):
        raise CommandError("the name in --source must be plain text", hint="leave out line breaks and controls")
    for tag in options.tag:
        if not (tag and tag.isprintable()):
            raise CommandError("a tag must be plain text", hint="leave out empty tags, line breaks and controls")


def _check_write_limit(options: Options, location: str) -> None:
    if options.write_limit is not None and not is_remote(location):
        raise CommandError(
            "--write-limit is for remote repositories, and this one is a directory",
            hint="--bandwidth limits the reading",
        )


def _request(
    options: Options, sources: tuple[SourceRequest, ...], terminal: Terminal, *, location: str, rate: int | None
) -> Request:
    limit = None if options.write_limit is None else parse_rate(options.write_limit)
    return Request(
        operation="backup",
        repository=structs.replace(access(location, options, terminal), write_bytes_per_second=limit),
        run=RunReference(id=str(uuid7(SYSTEM_CLOCK.now_ns()))),
        host=show_text(os.uname().nodename),
        sources=sources,
        bandwidth_bytes_per_second=rate,
        strict=options.strict,
        dry_run=options.dry_run,
        compression=options.compression,
        tags=options.tag,
        skip_paths=own_paths(location),
    )
