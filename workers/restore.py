"""The operation of a restore run: one engine process restores a backup, or a part of it, into a directory.

Owns the check of the target on the machine that writes, with its links resolved, and the translation of the report:
what differs and was kept, or could not be written, is skipped; damaged content is a failure of class integrity.
"""

import os
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec
from django.conf import settings

from jobs.executors import ExecutionControl, ExecutionRequest, ExecutionResult, Failure, Figures
from jobs.restore_targets import refusal
from jobs.source_paths import normalise
from jobs.states import FailureClass
from repositories.engine.display import show_bytes, show_count, show_path
from repositories.engine.process.requests import RestoreOrder
from repositories.models import Repository
from repositories.opening import RepositoryAccess
from workers import outcome
from workers.damage import found
from workers.operation_requests import restore_request
from workers.operation_run import Handed, carry_out, malformed, order_of

_DAMAGED: Final = 13
_LEFT_OUT: Final = ("kept", "failed", "collided")
_HEAD: Final = ("backup_id", "short_id", "source", "time", "state", "target")
_DONE: Final = ("files", "directories", "links", "others", "bytes", "existing", "kept", "damaged", "failed", "collided")
_PLANNED: Final = ("created", "created_bytes", "replaced", "replaced_bytes", "existing", "kept", "unknown", "damaged")
_DELETION: Final = ("deleted", "deleted_bytes", "spared", "failed", "refused")
_LISTS: Final = ("kept_paths", "failed_paths", "damaged_paths")


def restore(
    request: ExecutionRequest, control: ExecutionControl, row: Repository, access: RepositoryAccess
) -> ExecutionResult:
    """Restore what the run names, below this machine's own roots or where it was, or tell what that would do."""
    try:
        order = order_of(request.parameters, RestoreOrder)
    except msgspec.ValidationError as error:
        return malformed(error)
    if order.in_place and order.target:
        return malformed(msgspec.ValidationError("it has both a target and in_place"))
    # Which place that is only the engine knows, once it has read the backup; it judges it by this machine's roots.
    why = None if order.in_place else refused(order.target)
    if why is not None:
        message = outcome.clean(f"{show_path(order.target)} {why}")
        return ExecutionResult(failure=Failure("RESTORE_TARGET_NOT_ALLOWED", message, FailureClass.CONFIGURATION))
    return carry_out(
        Handed(request, control, access), restore_request(request, access, order), partial(_told, request, control)
    )


def refused(target: bytes) -> str | None:
    """Return why this machine restores nothing into `target`: by its name, and by where its links lead."""
    roots = [os.fsencode(root) for root in settings.SYNCOVA_RESTORE_ROOTS]
    own = [os.fsencode(settings.DATA_DIR)]
    try:
        named = normalise(target)
    except ValueError as error:
        return str(error)
    by_name = refusal(named, roots, own)
    return by_name or refusal(os.path.realpath(named), [*map(os.path.realpath, roots)], [*map(os.path.realpath, own)])


def _told(request: ExecutionRequest, control: ExecutionControl, report: Mapping[str, Any]) -> ExecutionResult:
    dry = "planned_ns" in report
    told = {name: report[name] for name in (*_HEAD, *(_PLANNED if dry else _DONE)) if name in report}
    told |= _deletion(report)
    for line in _lines(report):
        control.log(*line)
    if report["exit_code"] == _DAMAGED:
        damaged = show_count(report["damaged"] + report.get("swapped", 0), "object")
        failure = Failure(
            "INTEGRITY",
            f"{damaged} could not be restored: damaged in the repository, or swapped in the target meanwhile.",
            FailureClass.INTEGRITY,
            hint="The run's log names them. All else was restored; another backup may hold them unharmed.",
        )
        # What somebody exchanged in the target says nothing of the repository.
        return ExecutionResult(
            failure=failure, parameters=told, damage=found(request, failure) if report["damaged"] else None
        )
    if dry:
        return ExecutionResult(parameters=told)
    reasons = {name: report[name] for name in _LEFT_OUT if report[name]} | _undeleted(report)
    skipped = sum(reasons.values())
    if report["exit_code"] and not skipped:
        reasons, skipped = {"lost_manifests": len(report["lost_manifests"])}, max(1, len(report["lost_manifests"]))
    figures = Figures(
        files=report["files"], logical_bytes=report["bytes"], skipped=skipped, warnings=sum(report["warnings"].values())
    )
    return ExecutionResult(parameters=told, figures=figures, skip_reasons=reasons)


def _deletion(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was deleted, or would be, and of a plan the moment that the deletion itself has to name."""
    deletion = report.get("deletion")
    if deletion is None:
        return {}
    told = {f"deletion_{name}": deletion[name] for name in _DELETION}
    told["deletion_paths"] = [
        {"path": outcome.clean(each["path"], 300), "objects": each["objects"]} for each in deletion["deleted_paths"]
    ]
    return told | ({"planned_ns": report["planned_ns"]} if "planned_ns" in report else {})


def _undeleted(report: Mapping[str, Any]) -> dict[str, int]:
    """Return what should have gone and is still there: a deletion that was refused as a whole counts as one."""
    deletion = report.get("deletion") or {"failed": 0, "refused": ""}
    count = deletion["failed"] + (1 if deletion["refused"] else 0)
    return {"undeleted": count} if count else {}


def _lines(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = []
    for name in _LISTS:
        for each in report.get(name, ()):
            why = f": {each['reason']}" if "reason" in each else ""
            lines.append(("warning", outcome.clean(f"{name.removesuffix('_paths')}: {each['path']}{why}")))
    deletion = report.get("deletion") or {}
    verb = "deleted" if "files" in report else "to delete"
    for each in deletion.get("deleted_paths", ()):
        lines.append(("info", outcome.clean(f"{verb}: {each['path']} ({show_count(each['objects'], 'object')})")))
    for name, what in (("spared_paths", "not in the backup, and stays"), ("failed_paths", "not deleted")):
        for each in deletion.get(name, ()):
            lines.append(("warning", outcome.clean(f"{what}: {each['path']}: {each['reason']}")))
    if deletion.get("refused"):
        lines.append(("warning", outcome.clean(f"nothing is deleted: {deletion['refused']}")))
    if "files" in report:
        done = f"{show_count(report['files'], 'file')}, {show_bytes(report['bytes'])} written"
        lines.append(("info", outcome.clean(f"{report['short_id']} into {report['target']}: {done}.")))
    return lines
