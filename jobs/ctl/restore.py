"""`./syncova ctl restore`: bring a backup back into a directory of the machine that reaches its repository.

Owns the order "plan, agree, delete" of a restore that deletes.
"""

import base64
import os
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from jobs.ctl.api import Api, Json
from jobs.ctl.operations import OnRepository, planned, print_deletion_plan, queue, tell
from jobs.ctl.questions import confirm
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.terminal import terminal_of
from repositories.console.times import parse_moment
from repositories.engine.display import show_count, show_text
from syncova_project.instants import instant, moment_at

NAME = "restore"
HELP = (
    "Restore a backup into a directory of the machine whose workers reach the repository, below the roots that are "
    "allowed there (SYNCOVA_RESTORE_ROOTS). What is there already and differs is kept and counted, unless --overwrite "
    "says otherwise. No backup holds it up where the group has two slots or more. --overwrite, --in-place (on the "
    "machine that was backed up) and --delete need the right restores.in_place; what is deleted is planned and shown "
    "first."
)
EXAMPLES = (
    "restore vault --backup latest --target /var/lib/syncova/restores/home --wait",
    "restore vault --at '2026-11-29 18:00' --source /home --path docs --target /srv/restores/docs --dry-run",
    "restore vault --backup latest --in-place --overwrite if-changed --delete --wait",
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
    in_place: Annotated[bool, Option("--in-place", help="Where the source was, on the machine that was backed up.")] = (
        False
    )
    path: Annotated[tuple[str, ...], Option("--path", metavar="PATH", help="Only this and below; repeat it.")] = ()
    overwrite: Annotated[
        str, Option("--overwrite", metavar="MODE", help="never, if-newer, if-changed or always: what differs there.")
    ] = "never"
    delete: Annotated[
        bool, Option("--delete", help="Delete what the backup does not hold, after showing it and asking.")
    ] = False
    yes: Annotated[bool, Option("--yes", "-y", help="Delete without asking.")] = False
    verify: Annotated[bool, Option("--verify", help="Read the restored files back and compare them.")] = False
    dry_run: Annotated[bool, Option("--dry-run", "-n", help="Tell what would be made; change nothing.")] = False


def run(options: Options) -> int:
    """Queue the restore; with --wait say how it ended."""
    if (options.target is None) is not options.in_place:
        raise CommandError(
            "give one of --target and --in-place", hint="--target DIR is absolute, on the workers' machine"
        )
    if options.delete and options.overwrite == "never":
        raise CommandError(
            "--delete needs --overwrite to say something else", hint="add --overwrite if-newer, if-changed or always"
        )
    if not options.backup and not options.at:
        raise CommandError("--backup is missing", hint="give an id, a part of one, latest, or --at TIME")
    if "" in options.path:
        raise CommandError("--path is empty", hint="give a path of the backup; . is all of it")
    terminal, api = terminal_of(options), Api(find_server())
    order = _order(options)
    if options.delete and not options.dry_run:
        plan = planned(api, terminal, queue(api, options.repository, "restore", order | {"dry_run": True}))
        if plan is None:
            return exits.FAILED
        print_deletion_plan(terminal, plan["result"])
        if plan["result"]["deletion_deleted"] and not options.yes:
            count = show_count(plan["result"]["deletion_deleted"], "object")
            confirm(f"Delete {count} of {show_text(plan['result']['target'])}?", "--yes")
        order |= {"plan": plan["id"]}
    return tell(api, terminal, queue(api, options.repository, "restore", order), wait=options.wait)


def _order(options: Options) -> Json:
    return {
        "backup": options.backup or "latest",
        "source": options.source,
        "at": None if options.at is None else instant(moment_at(parse_moment(options.at))),
        **({"in_place": True} if options.in_place else {"target_base64": _exact(options.target or "")}),
        "paths_base64": [_exact(path) for path in options.path],
        "overwrite": options.overwrite,
        "delete": options.delete,
        "verify": options.verify,
        "dry_run": options.dry_run,
    }


def _exact(path: str) -> str:
    """A path is sent as its exact bytes: names on disk are not always text."""
    return base64.b64encode(os.fsencode(path)).decode("ascii")
