"""PostgreSQL refuses bad rows of upkeep plans, their decisions and their runs (D2)."""

from typing import Any

import pytest

from jobs.models import UpkeepDecision, UpkeepPlan
from tests.jobs.builders import DAILY, NOW, make_run, new_id
from tests.refusals import refused_by
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db


def make_plan(**fields: Any) -> UpkeepPlan:
    values: dict[str, Any] = {
        "id": new_id(),
        "kind": "prune",
        "definition": DAILY,
        "anchor": NOW,
        "next_at": NOW,
        "created_at": NOW,
    }
    values.setdefault("repository", fields.pop("repository", None) or make_repository())
    return UpkeepPlan.objects.create(**(values | fields))


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("upkeep_plans_kind_is_upkeep", {"kind": "backup"}),
        ("upkeep_plans_deleted_is_never_due", {"deleted_at": NOW}),
    ],
)
def test_a_bad_plan_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    with refused_by(constraint):
        make_plan(**fields)


def test_a_repository_has_one_plan_of_a_kind() -> None:
    plan = make_plan()
    make_plan(repository=plan.repository, kind="check")
    make_plan(repository=plan.repository, deleted_at=NOW, next_at=None)
    with refused_by("upkeep_plans_one_per_kind"):
        make_plan(repository=plan.repository)


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("upkeep_decisions_count_is_positive", {"count": 0}),
        ("upkeep_decisions_range_is_ordered", {"last_at": NOW.replace(year=2025)}),
        ("upkeep_decisions_outcome_is_known", {"outcome": "perhaps"}),
        ("upkeep_decisions_has_a_reason", {"reason_code": " "}),
    ],
)
def test_a_bad_decision_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    values = {"first_at": NOW, "last_at": NOW, "count": 1, "outcome": "skipped", "reason_code": "missed"}
    with refused_by(constraint):
        UpkeepDecision.objects.create(upkeep=make_plan(), created_at=NOW, **(values | fields))


def test_an_instant_of_a_plan_is_one_run() -> None:
    """D1, as runs_one_per_schedule_instant; the plan stands in the place of a schedule."""
    plan = make_plan()
    asked: dict[str, Any] = {"kind": "prune", "repository": plan.repository, "trigger": "schedule", "upkeep": plan}
    make_run(state="succeeded", **asked)
    with refused_by("runs_one_per_upkeep_instant"):
        make_run(**asked)
