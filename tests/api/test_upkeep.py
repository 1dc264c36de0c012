"""Upkeep plans over HTTP: set, listed with what became of their instants, ended (6.7)."""

import pytest

from jobs.models import UpkeepPlan
from tests.api.builders import NOBODY
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

WEEKLY = {"type": "weekly", "days": ["sun"], "time": "03:00", "time_zone": "Europe/Berlin"}


def test_a_plan_is_set_shown_and_ended() -> None:
    repository = make_repository()
    address = f"repositories/{repository.id}/upkeep"
    body = {"schedule": WEEKLY, "order": {"keep_daily": 7, "zone": "Europe/Berlin"}}
    made = ApiClient().request("PUT", f"{address}/forget", body)
    assert (made.status, made.json["kind"], made.json["next_run_at"] is not None) == (200, "forget", True)
    # A plan does what it plans; a POST without `dry_run: false` would only tell.
    assert (made.json["order"]["dry_run"], made.json["order"]["keep_daily"]) == (False, 7)
    assert "Europe/Berlin" in made.json["description"]
    assert ApiClient().get(address).json == {"upkeep": [made.json]}
    assert ApiClient().delete(f"{address}/forget").status == 204
    assert ApiClient().get(address).json == {"upkeep": []}
    ApiClient().delete(f"{address}/forget").refused(404, "UPKEEP_PLAN_NOT_FOUND")


@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("forget", {"schedule": WEEKLY}, "backups"),
        ("prune", {"schedule": WEEKLY, "order": {"keep_last": 1}}, "keep_last"),
        ("prune", {"schedule": {"type": "manual"}}, "schedule.type"),
        ("prune", {"order": {}}, "schedule"),
    ],
)
def test_what_cannot_be_planned_is_refused_by_field(kind: str, body: object, field: str) -> None:
    answer = ApiClient().request("PUT", f"repositories/{make_repository().id}/upkeep/{kind}", body)
    assert field in answer.refused(400, "VALIDATION_FAILED")["details"]
    assert not UpkeepPlan.objects.exists()


def test_only_upkeep_is_planned() -> None:
    address = f"repositories/{make_repository().id}/upkeep/restore"
    ApiClient().request("PUT", address, {"schedule": WEEKLY}).refused(404, "UPKEEP_PLAN_NOT_FOUND")
    ApiClient().get(f"repositories/{NOBODY}/upkeep").refused(404, "REPOSITORY_UNKNOWN")


def test_reading_and_planning_ask_for_their_rights() -> None:
    """E1."""
    address = f"repositories/{make_repository().id}/upkeep"
    ApiClient("jobs.read").get(address).refused(403, "PERMISSION_DENIED")
    assert ApiClient("repositories.read").get(address).status == 200
    ApiClient("repositories.read").request("PUT", f"{address}/prune", {}).refused(403, "PERMISSION_DENIED")
