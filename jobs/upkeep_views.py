"""The API of upkeep plans: parse, call, serialize (6.7). Decides nothing."""

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import examples
from jobs.answers import UPKEEP, UPKEEP_PLANS
from jobs.database_time import database_now
from jobs.errors import UpkeepPlanNotFoundError
from jobs.models import UpkeepPlan
from jobs.operation_serializers import CheckOrder, ForgetOrder, PruneOrder
from jobs.selectors import schedule_sentence
from jobs.services.upkeep import upkeep_end, upkeep_set
from jobs.states import UPKEEP_KINDS, RunKind
from repositories.selectors import repository_get
from syncova_project.access.scopes import Scope
from syncova_project.instants import instant
from syncova_project.rest import ApiView, Reader, StrictSerializer, actor_of, read_input

ORDERS: dict[RunKind, Reader] = {
    RunKind.CHECK: CheckOrder,
    RunKind.PRUNE: PruneOrder,
    RunKind.FORGET: ForgetOrder,
}


class UpkeepBody(StrictSerializer):
    """The body of PUT: when, and what the runs are asked, as in the POST of the same kind."""

    schedule = serializers.DictField()
    order = serializers.DictField(default=dict)


class UpkeepListView(ApiView):
    """GET lists the plans of a repository."""

    scopes = {"GET": (Scope.REPOSITORIES_READ,)}
    answers = {"GET": UPKEEP_PLANS}

    def get(self, request: Request, repository_id: uuid.UUID) -> Response:
        """Return all plans, at most one of a kind."""
        repository_get(repository_id)
        plans = UpkeepPlan.objects.filter(repository_id=repository_id, deleted_at__isnull=True).order_by("kind")
        return Response({"upkeep": [plan_json(plan) for plan in plans]})


class UpkeepView(ApiView):
    """PUT plans one kind of upkeep, DELETE ends its plan."""

    scopes = {"PUT": (Scope.REPOSITORIES_WRITE,), "DELETE": (Scope.REPOSITORIES_WRITE,)}
    answers = {"PUT": UPKEEP}
    examples = {"PUT": examples.UPKEEP}
    bodies, statuses = {"PUT": UpkeepBody}, {"DELETE": 204}

    def put(self, request: Request, repository_id: uuid.UUID, kind: str) -> Response:
        """Return the plan; its runs really do what they plan, whatever a POST does by default."""
        wanted, planned = self.body(request), known_kind(kind)
        order = read_input(ORDERS[planned], wanted["order"])
        if "dry_run" in order:
            order["dry_run"] = False
        plan = upkeep_set(
            planned,
            repository_id=repository_id,
            definition=wanted["schedule"],
            parameters=order,
            actor=actor_of(request),
            now=database_now(),
        )
        return Response(plan_json(plan))

    def delete(self, request: Request, repository_id: uuid.UUID, kind: str) -> Response:
        """End the plan."""
        upkeep_end(known_kind(kind), repository_id=repository_id, actor=actor_of(request), now=database_now())
        return Response(status=204)


def known_kind(kind: str) -> RunKind:
    """Return the kind of an address; raises UpkeepPlanNotFoundError for what is not planned."""
    if kind not in UPKEEP_KINDS:
        words = ", ".join(str(each) for each in UPKEEP_KINDS)
        raise UpkeepPlanNotFoundError(f"There is no upkeep {kind}.", hint=f"Planned are: {words}")
    return RunKind(kind)


def plan_json(plan: UpkeepPlan) -> dict[str, Any]:
    """Return a plan with its sentence, its next instant, and what became of instants that were no run."""
    decided = plan.decisions.order_by("-id")[:20]
    return {
        "id": str(plan.id),
        "kind": plan.kind,
        "schedule": plan.definition,
        "description": schedule_sentence(plan),
        "order": plan.parameters,
        "next_run_at": instant(None if plan.flag else plan.next_at),
        "state_reason": plan.flag,
        "created_at": instant(plan.created_at),
        "decisions": [
            {
                "first_at": instant(one.first_at),
                "last_at": instant(one.last_at),
                "count": one.count,
                "outcome": one.outcome,
                "reason_code": one.reason_code,
                "run_id": str(one.run_id) if one.run_id else None,
            }
            for one in decided
        ],
    }
