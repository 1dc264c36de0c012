"""`./syncova ctl restore`: bring a backup back into a directory of the machine that reaches its repository."""

import base64
import os
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from jobs.ctl.api import Api, Json
from jobs.ctl.operations import OnRepository, queue, tell
from jobs.ctl.server import find_server
from repositories.console.failures import CommandError
from repositories.console.terminal import terminal_of
from repositories.console.times import parse_moment
from syncova_project.instants import instant, moment_at

NAME = "restore"
HELP = (
    "Restore a backup into a directory of the machine whose workers reach the repository, below the roots that are "
    "allowed there (SYNCOVA_RESTORE_ROOTS). What is there already and differs is kept and counted, unless --overwrite "
    "says otherwise. No backup holds it up where the group has two slots or more."
)
EXAMPLES = (
    "restore vault --backup latest --target /var/lib/syncova/restores/home --wait",
    "restore vault --at '2026-11-29 18:00' --source laptop:/home --path docs --target /srv/restores/docs --dry-run",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OnRepository):
    """What `restore` takes."""

    backup: Annotated[
        str | None, Option("--backup", metavar="ID", help="Which backup: an id, a unique part of it, or latest.")
    ] = None
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    at: Annotated[
        str | None, Option("--at", metavar="TIME", help="The newest backup at or before this time (UTC if no zone).")
    ] = None
    target: Annotated[str | None, Option("--target", metavar="DIR", help="Absolute path on that machine.")] = None
    path: Annotated[tuple[str, ...], Option("--path", metavar="PATH", help="Only this and below; repeat it.")] = ()
    overwrite: Annotated[
        str, Option("--overwrite", metavar="MODE", help="never, if-newer, if-changed or always: what differs there.")
    ] = "never"
    verify: Annotated[bool, Option("--verify", help="Read the restored files back and compare them.")] = False
    dry_run: Annotated[bool, Option("--dry-run", "-n", help="Tell what would be made; change nothing.")] = False


def run(options: Options) -> int:
    """Queue the restore; with --wait say how it ended."""
    if options.target is None:
        raise CommandError("--target is missing", hint="say where to: --target DIR, absolute, on the workers' machine")
    if not options.backup and not options.at:
        raise CommandError("--backup is missing", hint="give an id, a part of one, latest, or --at TIME")
    if "" in options.path:
        raise CommandError("--path is empty", hint="give a path of the backup; . is all of it")
    terminal, api = terminal_of(options), Api(find_server())
    return tell(api, terminal, queue(api, options.repository, "restore", _order(options)), wait=options.wait)


def _order(options: Options) -> Json:
    return {
        "backup": options.backup or "latest",
        "source": options.source,
        "at": None if options.at is None else instant(moment_at(parse_moment(options.at))),
        "target_base64": _exact(options.target or ""),
        "paths_base64": [_exact(path) for path in options.path],
        "overwrite": options.overwrite,
        "verify": options.verify,
        "dry_run": options.dry_run,
    }


def _exact(path: str) -> str:
    """A path is sent as its exact bytes: names on disk are not always text."""
    return base64.b64encode(os.fsencode(path)).decode("ascii")
