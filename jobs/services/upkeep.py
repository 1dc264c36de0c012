"""Upkeep plans of repositories: set, replaced and ended (6.7).

Owns the writes of `upkeep_plans`; each function is one transaction with its audit entry. What a plan's runs may be
asked is jobs.services.operations'.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from jobs import calendar
from jobs.doorbell import request_pass
from jobs.errors import UpkeepPlanNotFoundError
from jobs.models import UpkeepPlan
from jobs.planning import planned
from jobs.services.operations import refuse_parameters
from jobs.states import UPKEEP_KINDS, RunKind
from jobs.upkeep import decide_due
from repositories.identifiers import new_id
from repositories.models import Repository
from repositories.selectors import repository_get
from syncova_project.access.services import audit_record
from syncova_project.errors import ValidationFailedError


def upkeep_set(
    kind: RunKind,
    *,
    repository_id: uuid.UUID,
    definition: Mapping[str, Any],
    parameters: Mapping[str, Any],
    actor: str,
    now: dt.datetime,
) -> UpkeepPlan:
    """Plan a kind of upkeep of a repository, in place of the plan that it had; the next instant is computed at once.

    Raises ValidationFailedError for a schedule or parameters that cannot be, RepositoryUnknownError.
    """
    schedule = _parsed(definition, now)
    with transaction.atomic():
        repository = _locked(repository_id)
        _refuse(kind, repository, parameters)
        ended = _end(kind, repository, "replanned", now)
        plan = UpkeepPlan.objects.create(
            id=new_id(now),
            repository=repository,
            kind=kind,
            definition=dict(schedule.definition()),
            parameters=dict(parameters),
            anchor=now,
            created_at=now,
            **planned(schedule, schedule.next_after(now)),
        )
        before = None if ended is None else _told(ended)
        _audit("upkeep.set", repository, actor, now, {"kind": str(kind), **_told(plan), "before": before})
        request_pass()
    return plan


def upkeep_end(kind: RunKind, *, repository_id: uuid.UUID, actor: str, now: dt.datetime) -> None:
    """End a plan; its runs stay, and what waits goes on. Raises UpkeepPlanNotFoundError."""
    with transaction.atomic():
        repository = _locked(repository_id)
        ended = _end(kind, repository, "plan_ended", now)
        if ended is None:
            raise UpkeepPlanNotFoundError(
                f"The repository {repository.name} has no plan for {kind}.",
                hint=f"List them with: GET /api/v1/repositories/{repository_id}/upkeep",
            )
        _audit("upkeep.end", repository, actor, now, {"kind": str(kind), "before": _told(ended)})


def _locked(repository_id: uuid.UUID) -> Repository:
    repository_get(repository_id)
    return Repository.objects.select_for_update(no_key=True).get(pk=repository_id)


def _told(plan: UpkeepPlan) -> dict[str, object]:
    return {"schedule": plan.definition, "parameters": plan.parameters}


def _end(kind: RunKind, repository: Repository, reason_code: str, now: dt.datetime) -> UpkeepPlan | None:
    kept = UpkeepPlan.objects.select_for_update(no_key=True)
    plan = kept.filter(repository=repository, kind=kind, deleted_at__isnull=True).first()
    if plan is None:
        return None
    if not plan.flag:
        decide_due(plan, reason_code, now=now)
    UpkeepPlan.objects.filter(id=plan.id).update(deleted_at=now, next_at=None)
    return plan


def _refuse(kind: RunKind, repository: Repository, parameters: Mapping[str, Any]) -> None:
    if kind not in UPKEEP_KINDS:
        raise ValidationFailedError(f"{kind} runs are not planned.", details={"kind": [f"{kind} is not planned."]})
    if parameters.get("backups"):
        sentence = "Are named once, by hand: a plan has keep rules."
        raise ValidationFailedError(sentence, details={"order.backups": [sentence]})
    refuse_parameters(kind, repository, parameters)


def _parsed(definition: Mapping[str, Any], now: dt.datetime) -> calendar.Plan:
    try:
        schedule = calendar.parse_new(definition, now=now)
    except calendar.ScheduleInvalidError as error:
        details = {f"schedule.{name}": [told] for name, told in error.problems.items()}
        raise ValidationFailedError(error.message, details=details) from error
    if schedule.next_after(now) is None:
        sentence = "Is never due: end the plan instead."
        raise ValidationFailedError(sentence, details={"schedule.type": [sentence]})
    return schedule


def _audit(action: str, repository: Repository, actor: str, now: dt.datetime, details: dict[str, object]) -> None:
    audit_record(
        actor=actor, action=action, subject_type="repository", subject_id=repository.id, now=now, details=details
    )
