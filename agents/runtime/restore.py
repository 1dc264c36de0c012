"""`syncova-agent restore`: bring a backup, or a part of it, back into a directory.

Owns the order of things: what is going to be deleted is planned and shown, then agreed to, and only then restored over.
"""

import os
import sys
from typing import Any, ClassVar

from msgspec import structs

from agents.runtime.restore_options import OVERWRITE, Options
from agents.runtime.restore_report import print_deletion_plan, print_plan, print_result
from repositories.console.engine_run import run_engine
from repositories.console.failures import CommandError, Failure
from repositories.console.paths import absolute
from repositories.console.progress_view import choose_view
from repositories.console.repository_access import access, own_data, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.console.times import parse_moment
from repositories.engine.display import show_count, show_text
from repositories.engine.process.requests import Request, RestoreOrder
from repositories.engine.throttle import parse_rate
from syncova_project import clock

NAME = "restore"
HELP = (
    "Restore a backup into a directory. The source's contents land directly in it. What is there already and "
    "differs is kept and counted, unless --overwrite says otherwise."
)
EXAMPLES = (
    "restore -r /mnt/backups/home --backup latest --target /tmp/home",
    "restore -r /mnt/backups/home --at '2026-11-29 18:00' --source laptop:/home --path documents --target /tmp/docs",
    "restore -r /mnt/backups/home --backup latest --in-place --overwrite if-changed --delete --dry-run",
)


class NotAgreedError(CommandError):
    """What would be deleted was shown, and nobody agreed to it: nothing was changed."""

    code: ClassVar[str] = "NOT_AGREED"


def run(options: Options) -> int:
    """Restore in an engine child and print what became of it."""
    terminal = terminal_of(options)
    order = _order(options)
    rate = None if options.bandwidth is None else parse_rate(options.bandwidth)
    location, _ = split_location((), options)
    choose_view(options.progress, terminal, clock.monotonic)  # a wrong --progress is told before a password is asked
    request = Request(
        operation="restore",
        repository=access(location, options, terminal),
        host=show_text(os.uname().nodename),
        bandwidth_bytes_per_second=rate,
        skip_paths=own_data(),
        restore=order,
    )
    if options.dry_run:
        plan = _run(options, terminal, request)
        print_plan(terminal, plan)
        terminal.document(plan)
        return int(plan["exit_code"])
    return _delete_too(options, terminal, request, order) if options.delete else _restore(options, terminal, request)


def _restore(options: Options, terminal: Terminal, request: Request, plan: dict[str, Any] | None = None) -> int:
    result = _run(options, terminal, request)
    print_result(terminal, result)
    terminal.document(result if plan is None else {**result, "plan": plan})
    # What was agreed to names its backup; that it was taken for the newest, the plan tells.
    doubted = int(plan["exit_code"]) if plan is not None and plan["lost_manifests"] else 0
    return int(result["exit_code"]) or doubted


def _delete_too(options: Options, terminal: Terminal, request: Request, order: RestoreOrder) -> int:
    """Restore and delete what the shown plan names: neither another backup's view, nor what came after it."""
    plan = _run(options, terminal, structs.replace(request, restore=structs.replace(order, dry_run=True)))
    print_deletion_plan(terminal, plan)
    if plan["deletion"]["deleted"] and not options.yes:
        refusal = _refusal(terminal, plan)
        if refusal is not None:
            terminal.failure(refusal, plan=plan)
            return refusal.exit_code
    agreed = structs.replace(order, backup=plan["backup_id"], at_ns=None, delete_before_ns=plan["planned_ns"])
    return _restore(options, terminal, structs.replace(request, restore=agreed), plan)


def _refusal(terminal: Terminal, plan: dict[str, Any]) -> Failure | None:
    """Ask whether to delete; return why not, or None."""
    what = f"{show_count(plan['deletion']['deleted'], 'object')} of {plan['target']}"
    if terminal.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        reason = f"deleting {what} needs to be agreed to, and nobody can be asked: nothing was changed"
        return _not_agreed(reason, "look at the plan, then give --yes")
    terminal.flush()  # what is asked about must stand there before the question
    sys.stderr.write(f"Delete {what}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    return _not_agreed("not agreed: nothing was changed", "leave out --delete to restore without deleting")


def _not_agreed(message: str, hint: str) -> Failure:
    return Failure(NotAgreedError.code, message, hint, NotAgreedError.exit_code)


def _run(options: Options, terminal: Terminal, request: Request) -> dict[str, Any]:
    return run_engine(request, choose_view(options.progress, terminal, clock.monotonic), terminal).result


def _order(options: Options) -> RestoreOrder:
    _check(options)
    return RestoreOrder(
        backup=options.backup or "latest",
        source=options.source,
        at_ns=None if options.at is None else parse_moment(options.at),
        target=b"" if options.target is None else absolute(options.target, "--target"),
        paths=tuple(path.encode("utf-8", "surrogateescape") for path in options.path),
        overwrite=options.overwrite,
        verify=options.verify,
        in_place=options.in_place,
        delete=options.delete,
        dry_run=options.dry_run,
    )


def _check(options: Options) -> None:
    if options.target is None and not options.in_place:
        raise CommandError("--target is missing", hint="say where to: --target DIR, or --in-place")
    if options.target is not None and options.in_place:
        raise CommandError("--target and --in-place exclude each other", hint="give one")
    if "" in (options.backup, options.at):
        # An empty variable in a script would otherwise mean the latest one.
        name = "--backup" if options.backup == "" else "--at"
        raise CommandError(f"{name} is empty", hint="give an id from `syncova-repo list`, a time, or latest")
    if options.backup is None and options.at is None:
        raise CommandError("--backup is missing", hint="give an id from `syncova-repo list`, or latest")
    if options.overwrite not in OVERWRITE:
        raise CommandError(f"--overwrite takes {', '.join(OVERWRITE)}", hint="give one of them")
    if options.delete and options.overwrite == OVERWRITE[0]:
        raise CommandError(
            "--delete does not go with --overwrite never, which keeps what differs and would lose what is nowhere else",
            hint="add --overwrite if-newer, if-changed or always",
        )
    if "" in options.path:
        raise CommandError("--path is empty", hint="give a path of the backup; . is all of it")
