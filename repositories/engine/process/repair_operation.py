"""The operation `repair`: what is hurt is mended, what cannot be is named.

Owns the result's shape. The engine's repair owns all the rest.
"""

from typing import Any

from repositories.engine.backup.options import Hooks
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import show_text
from repositories.engine.process.channel import Channel
from repositories.engine.process.check_operation import check_fields
from repositories.engine.process.introduction import introduce
from repositories.engine.process.reports import progress_event
from repositories.engine.process.requests import RepairOrder, Request
from repositories.engine.progress import Progress, ProgressGate
from repositories.engine.repair import RepairReport, RepairRequest, repair


def repair_repository(request: Request, channel: Channel) -> dict[str, Any]:
    """Repair the repository; what is left is a result, not an error."""
    order = request.repair or RepairOrder()
    repository = introduce(request, channel)

    def report(progress: Progress) -> None:
        channel.send(progress_event(progress, None))

    hooks = Hooks(report=ProgressGate(report, SYSTEM_CLOCK.monotonic), cancelled=channel.cancelled)
    wanted = RepairRequest(request.dry_run, order.read_data, order.adopt, request.repository.password.encode())
    return repair_fields(repair(repository, wanted, hooks), read_data=order.read_data)


def repair_fields(report: RepairReport, *, read_data: bool) -> dict[str, Any]:
    """Return a repair's report as JSON values; the list holds the first steps, the counts all of them.

    `check` is what a check said at the end; in a dry run, before anything.
    """
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
        "check": check_fields(report.after, read_data=read_data and report.dry_run),
    }
