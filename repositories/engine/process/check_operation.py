"""The operation `check`: whether all that the backups need is there and unharmed.

Owns the result's shape. The engine's check owns all the rest.
"""

from typing import Any

from repositories.engine.backup.options import Hooks
from repositories.engine.check import CheckReport, CheckRequest, HurtBackup, Proof, check
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import show_text, time_field
from repositories.engine.ids import short_id
from repositories.engine.process.channel import Channel
from repositories.engine.process.introduction import introduce_reader
from repositories.engine.process.next_steps import next_step
from repositories.engine.process.reports import progress_event
from repositories.engine.process.requests import CheckOrder, Request
from repositories.engine.progress import Progress, ProgressGate


def check_repository(request: Request, channel: Channel) -> dict[str, Any]:
    """Check the repository; damage is a result, not an error."""
    order = request.check or CheckOrder()
    repository = introduce_reader(request, channel)

    def report(progress: Progress) -> None:
        channel.send(progress_event(progress, None))

    hooks = Hooks(report=ProgressGate(report, SYSTEM_CLOCK.monotonic), cancelled=channel.cancelled)
    wanted = CheckRequest(read_data=order.read_data, read_percent=order.read_percent, max_seconds=order.max_seconds)
    return check_fields(check(repository, wanted, hooks), read_data=order.read_data)


def _proof_fields(proof: Proof) -> dict[str, Any]:
    """Return how much is proven; bytes are those of packs. `oldest_verified_at` is null where nothing is."""
    return {
        "packs": proof.packs,
        "bytes": proof.bytes,
        "read_packs": proof.read_packs,
        "unread_packs": proof.unread_packs,
        "unread_bytes": proof.unread_bytes,
        "never_verified_packs": proof.never_packs,
        "never_verified_bytes": proof.never_bytes,
        "verified_packs": proof.good_packs,
        "verified_bytes": proof.good_bytes,
        "oldest_verified_at": None if proof.oldest_ns is None else time_field(proof.oldest_ns),
    }


def _surroundings_fields(report: CheckReport) -> dict[str, Any]:
    """Return what lies there besides: `retired` is under keys from before a rotation, `disowned` does not count."""
    around = report.around
    return {
        "unreferenced_bytes": around.unlisted.bytes,
        "retired_packs": around.retired.count,
        "retired_bytes": around.retired.bytes,
        "retired_objects": report.older_objects,
        "disowned_objects": report.disowned_objects,
        "passed_by_objects": report.passed_by_objects,
        "aside_objects": around.aside.count,
        "aside_bytes": around.aside.bytes,
        "strays": around.strays,
        "stray_names": [show_text(name) for name in around.stray_names],
    }


def check_fields(report: CheckReport, *, read_data: bool) -> dict[str, Any]:
    """Return a check's report as JSON values; the lists hold the first problems, the counts all of them."""
    return {
        "ok": report.ok,
        "exit_code": report.exit_code,
        "read_data": read_data,
        "backups": report.backups,
        "packs": report.packs,
        "objects": report.objects,
        "chunks_referenced": report.chunks_referenced,
        "chunks_read": report.chunks_read,
        "bytes_read": report.bytes_read,
        "unreferenced_packs": report.unreferenced_packs,
        "unused_packs": report.unused_packs,
        "unused_bytes": report.unused_bytes,
        "replaced_packs": report.replaced_packs,
        "gone_packs": report.gone_packs,
        "remembered": report.remembered,
        "healed_packs": report.healed_packs,
        "read_twice": report.read_twice,
        "reserve": report.reserve,
        "void_manifests": report.void_manifests,
        "late_backups": report.late_backups,
        "half_done": report.half_done,
        "left_over": report.left_over,
        "stopped": report.stopped,
        **_surroundings_fields(report),
        "proof": _proof_fields(report.proof),
        "problem_count": report.problem_count,
        "hint": next_step(report),
        "problems": [
            {"kind": problem.kind, "object": show_text(problem.object), "message": show_text(problem.message)}
            for problem in report.problems
        ],
        "hurt_backups": [_hurt_fields(hurt) for hurt in report.hurt],
    }


def _hurt_fields(hurt: HurtBackup) -> dict[str, Any]:
    return {
        "id": show_text(hurt.backup_id),
        "short_id": short_id(hurt.backup_id),
        "source": hurt.source,
        "count": hurt.count,
        "paths": list(hurt.paths),
    }
