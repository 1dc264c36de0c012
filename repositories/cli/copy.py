"""`syncova-repo copy`: carry backups over into another repository."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from repositories.cli.arguments import LOCATION_RULE
from repositories.cli.naming import split_ids
from repositories.console import exits
from repositories.console.engine_run import run_engine
from repositories.console.failures import LocationMissingError
from repositories.console.options import Argument, LongOptions, Option
from repositories.console.passwords import PasswordPlace, read_secret, warn_if_public
from repositories.console.progress_view import choose_view
from repositories.console.repository_access import access, access_to, resolve
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count
from repositories.engine.process.requests import CopyOrder, RepositoryAccess, Request
from repositories.engine.throttle import parse_rate
from syncova_project import clock

NAME = "copy"
HELP = (
    "Copy backups into the repository at --to: all of them, those of one source, or those named. They keep their ids "
    "and the times at which they were received; what is there already is not copied again, so that a broken-off copy "
    "is just run once more. Tags, notes and holds that came upon them later go along, and what changes of these with "
    "the next copy. Every byte is verified on the way; a backup with damage is left out, and the command ends with "
    f"exit code 13. {LOCATION_RULE}"
)
EXAMPLES = (
    "copy /mnt/backups/home --to /mnt/second/home --to-password-file ~/.second-password",
    "copy -r /mnt/backups/home --to /mnt/second/home --source laptop:/home --bandwidth 20MB --json",
    "copy /mnt/backups/home 3fa2b1c0 --to /mnt/second/home --dry-run",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LongOptions):
    """What `copy` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] [BACKUP…]", hidden=True)] = ()
    to: Annotated[str | None, Option("--to", metavar="LOCATION", help="The repository that gets the copies.")] = None
    to_password_file: Annotated[
        str | None, Option("--to-password-file", metavar="FILE", help="File that holds its password or recovery code.")
    ] = None
    to_password_command: Annotated[
        str | None, Option("--to-password-command", metavar="COMMAND", help="Program that prints its password.")
    ] = None
    to_insecure_no_password: Annotated[
        bool, Option("--to-insecure-no-password", help="It has the published empty password.")
    ] = False
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    bandwidth: Annotated[
        str | None, Option("--bandwidth", metavar="RATE", help="Read no faster than this: 50MB, 1.5MB/s, 400Mbit.")
    ] = None
    compression: Annotated[
        str, Option("--compression", metavar="fast|default|max|off", help="Of what must be compressed again.")
    ] = "default"
    dry_run: Annotated[bool, Option("--dry-run", help="Tell what would be copied, write nothing.")] = False


def run(options: Options) -> int:
    """Copy in an engine child and print what was done."""
    terminal = terminal_of(options)
    location, backups = split_ids(options.words, options)
    if options.to is None:
        raise LocationMissingError("no repository to copy to is named", hint="give it with --to LOCATION")
    rate = None if options.bandwidth is None else parse_rate(options.bandwidth)
    view = choose_view(options.progress, terminal, clock.monotonic)
    request = Request(
        operation="copy",
        repository=access(location, options, terminal),
        bandwidth_bytes_per_second=rate,
        compression=options.compression,
        dry_run=options.dry_run,
        copy=CopyOrder(to=_target(options, terminal), backups=tuple(backups), source=options.source),
    )
    report = run_engine(request, view, terminal).result
    _print(terminal, report, dry_run=options.dry_run)
    terminal.document({**report, "dry_run": options.dry_run})
    return int(report["exit_code"])


def _target(options: Options, terminal: Terminal) -> RepositoryAccess:
    place = PasswordPlace(
        options.to_password_file, options.to_password_command, options.to_insecure_no_password, prefix="to-"
    )
    password = read_secret(place, terminal, "Password of the repository to copy to: ")
    warn_if_public(password, terminal)
    return access_to(resolve(options.to or ""), password)


def _print(terminal: Terminal, report: dict[str, Any], *, dry_run: bool) -> None:
    _print_copied(terminal, report, dry_run=dry_run)
    _print_left_out(terminal, report)
    terminal.line(_sum(report, dry_run=dry_run))
    if count := report["deleted_there"]:
        stay, them = ("stays", "it") if count == 1 else ("stay", "them")
        terminal.note(
            f"{show_count(count, 'backup')} deleted in the other repository {stay} so; undelete there "
            f"brings {them} back until its next prune"
        )
    if report["exit_code"] == exits.INTEGRITY and not dry_run:
        terminal.note("Next: check --read-data on the repository that was copied from")


def _print_copied(terminal: Terminal, report: dict[str, Any], *, dry_run: bool) -> None:
    at_most = "" if report["related"] or not dry_run else "at most "
    for verb, backups in (("copied", report["copied"]), ("healed", report["healed"])):
        words = f"would be {verb}" if dry_run else verb
        for backup in backups:
            terminal.line(f"{words}: {_named(backup)}: {at_most}{show_bytes(backup['missing_bytes'])} were missing")


def _print_left_out(terminal: Terminal, report: dict[str, Any]) -> None:
    for backup in report["failed"]:
        terminal.line(f"not copied: {_named(backup)}: {backup['reason']}")
    for backup in report["gone"]:
        terminal.line(f"not copied: {_named(backup)}: it was deleted meanwhile, and a prune has taken it")
    for name in report["damaged_labels"]:
        terminal.warning(f"{name} cannot be read: a tag, note or hold may be missing in the copies")
    for name in report["damaged_manifests"]:
        terminal.warning(f"{name} is damaged in both copies: that backup is lost, and was not copied")


def _named(backup: dict[str, Any]) -> str:
    return f"{backup['short_id']} of {backup['time']}, {backup['source']}"


def _sum(report: dict[str, Any], *, dry_run: bool) -> str:
    copied = show_count(len(report["copied"]), "backup")
    parts = [f"{copied} {'would be copied' if dry_run else 'copied'}", f"{report['there']:,} there already"]
    parts += _told(report["failed"], "with damage not copied")
    parts += _labels(report, dry_run=dry_run)
    if not dry_run:
        parts += [f"{show_bytes(report['bytes_read'])} read", f"{show_bytes(report['bytes_stored'])} stored"]
    return ", ".join(parts)


def _told(backups: Sequence[object], what: str) -> list[str]:
    return [f"{len(backups):,} {what}"] if backups else []


def _labels(report: dict[str, Any], *, dry_run: bool) -> list[str]:
    """Return what is told of tags, notes and holds, where there is anything to tell."""
    would = "would be " if dry_run else ""
    parts = []
    if report["labels_carried"]:
        what = "later tag, note or hold" if report["labels_carried"] == 1 else "later tags, notes and holds"
        parts.append(f"{report['labels_carried']:,} {what} {would}carried over")
    if report["labels_ended"]:
        what = "tag or hold" if report["labels_ended"] == 1 else "tags or holds"
        parts.append(f"{report['labels_ended']:,} {what} {would}ended")
    return parts
