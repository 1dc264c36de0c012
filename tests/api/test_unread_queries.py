"""Nothing that was sent is passed over or guessed: repeated and misplaced parameters, instants without offset (7.3)."""

from typing import Any

import pytest

from tests.api.builders import make_job
from tests.api.client import ApiClient
from tests.repositories.builders import make_backup, make_repository

pytestmark = pytest.mark.django_db
ROOT = "/srv/restores"
GUESSED = ("2026-12-01", "2026-12-01T00:00:00", "2026-12-01T00:00", "2026-13-01T00:00:00Z", "2026-12-01T25:00:00Z")


@pytest.fixture(autouse=True)
def _quiet(settings: Any) -> None:
    settings.SYNCOVA_WAKE = settings.SYNCOVA_DOORBELL = ""
    settings.SYNCOVA_RESTORE_ROOTS = [ROOT]


def refused_field(path: str) -> Any:
    return ApiClient().get(path).refused(400, "VALIDATION_FAILED")["details"]


def test_runs_of_a_job_take_no_other_job() -> None:
    one, other = make_job(), make_job()
    assert set(refused_field(f"jobs/{one.id}/runs?job={other.id}")) == {"job"}
    assert ApiClient().get(f"runs?job={one.id}").status == 200
    assert ApiClient().get(f"jobs/{one.id}/runs?repository={one.repository_id}").status == 200


def test_what_is_given_twice_is_refused_by_its_name() -> None:
    assert set(refused_field("jobs?limit=1&limit=2")) == {"limit"}
    assert set(refused_field("audit?actor=a&limit=1&actor=a")) == {"actor"}
    backup = make_backup(make_repository())
    place = f"repositories/{backup.repository_id}/backups/{backup.pk}/content"
    assert set(refused_field(f"{place}?path=one&path=two")) == {"path"}


@pytest.mark.parametrize("moment", GUESSED)
def test_an_instant_has_its_time_and_its_offset(moment: str) -> None:
    for list_of in ("audit", "backups"):
        assert set(refused_field(f"{list_of}?since={moment}")) == {"since"}
        assert set(refused_field(f"{list_of}?until={moment}")) == {"until"}
    order = {"backup": "latest", "target": f"{ROOT}/one", "at": moment}
    answer = ApiClient().post(f"repositories/{make_repository().id}/restore", order)
    assert set(answer.refused(400, "VALIDATION_FAILED")["details"]) == {"at"}
    body = {"name": "t", "scopes": ["jobs.read"], "expires_at": moment.replace("2026", "2099")}
    assert set(ApiClient().post("tokens", body).refused(400, "VALIDATION_FAILED")["details"]) == {"expires_at"}


@pytest.mark.parametrize("moment", ["2026-12-01T00:00Z", "2026-12-01T00:00:00.5%2B01:00", "2026-12-01T00:00:00-0800"])
def test_whole_instants_are_taken(moment: str) -> None:
    assert ApiClient().get(f"audit?since={moment}").status == 200
