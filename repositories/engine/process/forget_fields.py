"""A plan of deletion and what came of it, as JSON values. Owns the field names; fields are only ever added."""

from collections.abc import Iterable
from typing import Any

from repositories.engine.display import show_text, time_field
from repositories.engine.forgetting.applying import ForgetResult
from repositories.engine.forgetting.planning import ForgetPlan, Judged
from repositories.engine.forgetting.reasons import reason_text
from repositories.engine.manifest.backups import Backup
from repositories.engine.retention.policy import Reason


def forget_document(plan: ForgetPlan, result: ForgetResult | None) -> dict[str, Any]:
    """Return the plan, and what was really deleted; no result: it was a dry run."""
    fields: dict[str, Any] = {
        "dry_run": result is None,
        "plan": [_judged_fields(each) for each in plan.judged],
        "to_keep": len(plan.judged) - len(plan.going),
        "to_delete": len(plan.going),
        "lost_manifests": list(plan.lost),
        "warnings": list(plan.warnings),
    }
    if result is None:
        nothing = {"deleted": [], "spared": [], "already_deleted": 0, "uncertain": False}
        return {**fields, **nothing, "reserve_used": False, "reserve_lack": "", "reserve_gone": False}
    left = result.reserve_left
    return {
        **fields,
        "deleted": [name_fields(backup) for backup in result.deleted],
        "spared": [
            {**name_fields(each.backup), "reasons": [reason_fields(reason) for reason in each.reasons]}
            for each in result.spared
        ],
        "already_deleted": result.already,
        "uncertain": result.uncertain,
        "reserve_used": result.reserve_used,
        "reserve_lack": "" if left is None else show_text(left.lack),
        "reserve_gone": left is not None and left.is_gone,
    }


def name_fields(backup: Backup) -> dict[str, Any]:
    """Return what names one backup."""
    return {
        "id": show_text(backup.id),
        "short_id": backup.short_id,
        "source": show_text(backup.source_name),
        "time": time_field(backup.received_ns),
        "manifest_id": backup.manifest_id,
    }


def named_fields(backups: Iterable[Backup]) -> list[dict[str, Any]]:
    """Return what names each backup."""
    return [name_fields(backup) for backup in backups]


def reason_fields(reason: Reason) -> dict[str, Any]:
    """Return one reason: its rule, the period, tag or hold's reason, the place where the rule counts, the words."""
    return {
        "rule": reason.rule,
        "bucket": show_text(reason.bucket),
        "number": reason.number,
        "of": reason.of,
        "until": None if reason.until_ns is None else time_field(reason.until_ns),
        "text": reason_text(reason),
    }


def _judged_fields(judged: Judged) -> dict[str, Any]:
    return {
        **name_fields(judged.backup),
        "keep": judged.verdict.keep,
        "good": judged.verdict.facts.good,
        "tags": sorted(map(show_text, judged.verdict.facts.tags)),
        "reasons": [reason_fields(reason) for reason in judged.verdict.reasons],
    }
