"""The operations of prune and forget runs: backups that no rule keeps are deleted, and room is given back.

Owns the translation of their reports. What may go is the engine's plan; a dry run ends with the plan alone, and every
plan stands in the run's log line by line.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from jobs.executors import ExecutionControl, ExecutionRequest, ExecutionResult, Failure, Figures
from jobs.states import FailureClass
from repositories.engine.display import show_bytes, show_count
from repositories.engine.process.requests import ForgetOrder, PruneOrder, Request
from repositories.models import Repository
from repositories.opening import RepositoryAccess
from repositories.services import fence_intend
from workers import outcome
from workers.database import until_done
from workers.engine_run import asked
from workers.operation_requests import forget_request, is_dry, prune_request
from workers.operation_run import Handed, carry_out, malformed, order_of

T = TypeVar("T")
# Of a plan, so many backups stand in the run's result; the log has all of them.
PLANNED_SHOWN: Final = 100
_PRUNED: Final = (
    "finished",
    "dry_run",
    "backups",
    "deleted_backups",
    "removed_backups",
    "deleted_packs",
    "repacked_packs",
    "bytes_freed",
    "bytes_read",
    "bytes_written",
    "repack_stopped",
    "repack_needs_bytes",
    "repack_free_bytes",
)
_PLANNED: Final = ("packs", "bytes", "unused_bytes", "delete_packs", "repack_packs", "bytes_to_read", "bytes_to_free")


def prune(
    request: ExecutionRequest, control: ExecutionControl, row: Repository, access: RepositoryAccess
) -> ExecutionResult:
    """Give back the room of what no backup uses; held up by others it fails as locked, and a later one goes on."""
    return _deleted(Handed(request, control, access), row, PruneOrder, prune_request, _pruned)


def forget(
    request: ExecutionRequest, control: ExecutionControl, row: Repository, access: RepositoryAccess
) -> ExecutionResult:
    """Delete the backups that the run names, or that its rules do not keep, once the run's lease is confirmed."""
    return _deleted(Handed(request, control, access), row, ForgetOrder, forget_request, _forgotten)


def _deleted(
    handed: Handed,
    row: Repository,
    shape: type[T],
    ask: Callable[[ExecutionRequest, RepositoryAccess, T], Request],
    tell: Callable[[ExecutionControl, Mapping[str, Any]], ExecutionResult],
) -> ExecutionResult:
    """Have the engine delete by the run's order, of a `shape` that `ask` makes a request of; `tell` judges the end."""
    try:
        order = order_of(handed.request.parameters, shape)
    except msgspec.ValidationError as error:
        return malformed(error)
    fenced = _intended(handed, row)
    if fenced is None:
        return ExecutionResult(cancelled=handed.control.cancelled())
    return carry_out(fenced, ask(fenced.request, fenced.access, order), partial(tell, fenced.control))


def _intended(handed: Handed, row: Repository) -> Handed | None:
    """Note the fence that a deletion will put; a plan puts none. None: somebody wants the run to end."""
    if is_dry(handed.request):
        return handed
    # Committed before the repository can hold it: what is found there later and is higher was never ours.
    intend = partial(fence_intend, repository_id=row.id, fence=handed.request.fence)
    until_done(intend, give_up=lambda: asked(handed.control))
    return None if asked(handed.control) else replace(handed, confirmed_before=row.fence_confirmed)


def _pruned(control: ExecutionControl, report: Mapping[str, Any]) -> ExecutionResult:
    plan = report["plan"]
    told = {name: report[name] for name in _PRUNED} | {"plan": {name: plan[name] for name in _PLANNED}}
    control.log(
        "info",
        f"The plan: delete {show_count(plan['delete_packs'], 'pack')}, repack {plan['repack_packs']:,}, and free about "
        f"{show_bytes(plan['bytes_to_free'])} of {show_bytes(plan['bytes'])}.",
    )
    warnings = _warn_of_reserve(control, report) + _warn_of_room(control, report)
    if report["dry_run"] or not report["waiting_for"]:
        figures = Figures(bytes_read=report["bytes_read"], bytes_stored=report["bytes_written"], warnings=warnings)
        return ExecutionResult(parameters=told, figures=figures)
    waiting = outcome.clean(", ".join(report["waiting_for"]))
    failure = Failure(
        "REPOSITORY_LOCKED",
        f"Nothing was deleted yet: out of time while waiting for {waiting}.",
        FailureClass.REPOSITORY,
        hint="Run it again when they have ended, or give it more time.",
    )
    return ExecutionResult(failure=failure, parameters=told)


def _forgotten(control: ExecutionControl, report: Mapping[str, Any]) -> ExecutionResult:
    for line in _plan_lines(report):
        control.log(*line)
    spared = len(report["spared"])
    warnings = len(report["warnings"]) + _warn_of_reserve(control, report)
    told = {
        "dry_run": report["dry_run"],
        "to_keep": report["to_keep"],
        "to_delete": report["to_delete"],
        "deleted": len(report["deleted"]),
        "already_deleted": report["already_deleted"],
        "lost_manifests": len(report["lost_manifests"]),
        "plan": [_planned(each) for each in report["plan"][:PLANNED_SHOWN]],
    }
    reasons = {"spared": spared} if spared else {}
    figures = Figures(skipped=spared, warnings=warnings)
    return ExecutionResult(parameters=told, figures=figures, skip_reasons=reasons)


def _warn_of_room(control: ExecutionControl, report: Mapping[str, Any]) -> int:
    """Say in the run's log how much room packing anew waits for; return the number of warnings."""
    if not report["repack_needs_bytes"]:
        return 0
    needs, free = show_bytes(report["repack_needs_bytes"]), show_bytes(report["repack_free_bytes"])
    control.log(
        "warning",
        f"Packing anew waits for room: {needs} must be free on the medium, {free} are. Remove other files there or "
        "take a larger one: prunes change nothing more until then.",
    )
    return 1


def _warn_of_reserve(control: ExecutionControl, report: Mapping[str, Any]) -> int:
    """Say in the run's log that a full medium may not be cleaned any more; return the number of warnings."""
    if not report["reserve_gone"]:
        return 0
    lack = outcome.clean(report["reserve_lack"], 300)
    control.log(
        "warning",
        f"The reserve is gone: {lack}. When the medium is full, deletions will fail: free room now, then prune again.",
    )
    return 1


def _plan_lines(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for each in report["plan"]:
        named = _planned(each)
        verb = "keep" if named["keep"] else "delete"
        yield "info", f"plan: {verb} {named['short_id']} of {named['source']}, {named['time']}: {named['why']}"
    for warning in report["warnings"]:
        yield "warning", outcome.clean(warning)
    for each in report["deleted"]:
        yield "info", outcome.clean(f"deleted {each['short_id']} of {each['source']}, {each['time']}")
    for each in report["spared"]:
        why = "; ".join(reason["text"] for reason in each["reasons"])
        yield "warning", outcome.clean(f"backup {each['short_id']} stays after all: {why}")


def _planned(judged: Mapping[str, Any]) -> dict[str, Any]:
    """Return one backup of a plan with its judgement; shown text, bounded."""
    return {
        "id": outcome.clean(judged["id"], 100),
        "short_id": outcome.clean(judged["short_id"], 20),
        "source": outcome.clean(judged["source"], 300),
        "time": outcome.clean(str(judged["time"]), 40),
        "keep": judged["keep"],
        "why": outcome.clean("; ".join(reason["text"] for reason in judged["reasons"]), 300),
    }
