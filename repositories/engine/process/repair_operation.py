"""The operation `repair`: what is hurt is mended, what cannot be is named.

Owns the results' shape. The engine's repair owns all the rest.
"""

from collections.abc import Sequence
from typing import Any, Final

from repositories.engine.backup.options import Hooks
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import show_text, time_field
from repositories.engine.process.channel import Channel
from repositories.engine.process.check_operation import check_fields
from repositories.engine.process.introduction import introduce, introduce_reader
from repositories.engine.process.reports import progress_event
from repositories.engine.process.requests import RepairOrder, Request
from repositories.engine.progress import Progress, ProgressGate
from repositories.engine.repair import (
    AsideObject,
    RepairReport,
    RepairRequest,
    list_aside,
    remove_aside,
    repair,
)
from repositories.engine.repository import Repository

_ASIDE_LISTED: Final = 1000


def repair_repository(request: Request, channel: Channel) -> dict[str, Any]:
    """Repair the repository; what is left is a result, not an error."""
    order = request.repair or RepairOrder()
    # Who only wants to know what would be done is told that of what is left, too.
    looks = request.dry_run and not order.ahead
    repository = introduce_reader(request, channel) if looks else introduce(request, channel, writes=True)

    def report(progress: Progress) -> None:
        channel.send(progress_event(progress, None))

    hooks = Hooks(report=ProgressGate(report, SYSTEM_CLOCK.monotonic), cancelled=channel.cancelled)
    if order.ahead:
        repository.require_writable()
    if order.remove_aside:
        return _clear_aside(repository, order.aside_before_ns, hooks, dry_run=request.dry_run)
    wanted = RepairRequest(request.dry_run, order.read_data, order.adopt, request.repository.password.encode())
    return repair_fields(repair(repository, wanted, hooks), read_data=order.read_data)


def _clear_aside(repository: Repository, before_ns: int, hooks: Hooks, *, dry_run: bool) -> dict[str, Any]:
    """Remove what was set aside before a time, and nothing else; in a dry run only list it."""
    doomed = [each for each in list_aside(repository.storage) if each.is_from_before(before_ns)]
    removed = 0 if dry_run else remove_aside(repository, doomed, hooks)
    return {"dry_run": dry_run, "exit_code": 0, "removed": removed, **aside_fields(doomed)}


def aside_fields(found: Sequence[AsideObject]) -> dict[str, Any]:
    """Return objects that lie aside as JSON values; `since` is null where nobody knows."""
    return {
        "aside": [
            {
                "object": show_text(each.name),
                "bytes": each.size,
                "since": None if each.since_ns is None else time_field(each.since_ns),
            }
            for each in found[:_ASIDE_LISTED]
        ],
        "aside_count": len(found),
        "aside_bytes": sum(each.size for each in found),
    }


def repair_fields(report: RepairReport, *, read_data: bool) -> dict[str, Any]:
    """Return a repair's report as JSON values; the list holds the first steps, the counts all of them.

    `check` is what a check said at the end; in a dry run, before anything.
    """
    left = report.reserve
    return {
        "dry_run": report.dry_run,
        "exit_code": report.exit_code,
        "steps": [
            {"kind": step.kind, "object": show_text(step.object), "message": show_text(step.message), "done": step.done}
            for step in report.steps
        ],
        "step_count": report.step_count,
        "undone": report.undone,
        "chunks_saved": report.chunks_saved,
        "chunks_lost": report.chunks_lost,
        "adopted": [show_text(each) for each in report.adopted],
        **aside_fields(report.aside),
        "reserve_used": left is not None,
        "reserve_lack": "" if left is None else show_text(left.lack),
        "reserve_gone": left is not None and left.is_gone,
        "check": check_fields(report.after, read_data=read_data and report.dry_run),
    }
