"""Backups over HTTP: the catalogue listed and shown (7.4, H3)."""

import datetime as dt
import uuid
from functools import partial
from typing import Any

import pytest

from repositories.models import Backup, Repository
from syncova_project.access.scopes import ALL_SCOPES
from tests.api.admin_pages import HOSTILE
from tests.api.builders import NOBODY
from tests.api.client import ApiClient
from tests.api.test_history_indexes import COUNTING, asked, plan_of
from tests.repositories.builders import NOW, make_backup, make_repository, random_hex

pytestmark = pytest.mark.django_db


def test_a_backup_is_shown_with_what_it_is_and_comes_from() -> None:
    """H3."""
    job, source, run, parent = uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), random_hex()
    place = make_repository(name="vault")
    backup = make_backup(
        place, run_id=run, job_id=job, source_id=source, source_name=HOSTILE, source_type="filesystem", host="laptop",
        mode="incremental", parent=parent, trigger="schedule", scheduled_for=NOW, files=3, logical_bytes=30,
        bytes_read=20, bytes_stored=10, skipped=1, warnings=2,
    )  # fmt: skip
    shown = ApiClient("repositories.read").get(f"backups/{backup.id}")
    assert shown.status == 200
    assert shown.json["repository"] == {"id": str(place.id), "name": "vault"}
    assert shown.json["lineage"] == {"mode": "incremental", "chain": backup.chain, "parent": parent}
    assert (shown.json["source"]["host"], shown.json["source"]["id"]) == ("laptop", str(source))
    assert HOSTILE not in shown.json["source"]["name"]
    assert shown.json["origin"] == {
        "run": str(run), "job": str(job), "trigger": "schedule", "scheduled_for": "2026-11-30T02:00:00Z",
    }  # fmt: skip
    figures = [shown.json[name] for name in ("files", "logical_bytes", "bytes_read", "bytes_added", "state", "late")]
    assert figures == [3, 30, 20, 10, "partial", False]
    assert shown.json["problems"] == {"skipped": 1, "warnings": 2}
    assert (shown.json["manifest_id"], shown.json["backup_id"]) == (backup.manifest_id, backup.backup_id)
    ApiClient().get(f"backups/{NOBODY}").refused(404, "BACKUP_NOT_FOUND")


def test_the_list_is_narrowed_and_read_by_key() -> None:
    one, two, job = make_repository(), make_repository(), uuid.uuid4()
    places: list[tuple[Repository, dict[str, Any]]] = [
        (one, {"job_id": job}),
        (two, {"skipped": 1}),
        (one, {}),
        (one, {}),
    ]
    made = [
        make_backup(place, created_at=NOW + dt.timedelta(hours=hours), **fields)
        for hours, (place, fields) in enumerate(places)
    ]

    def found(query: str) -> list[int]:
        answer = ApiClient().get(f"backups?{query}")
        assert answer.status == 200, answer.json
        return [made.index(Backup.objects.get(pk=each["id"])) for each in answer.json["backups"]]

    assert found("") == [3, 2, 1, 0]
    assert found("ordering=created_at") == [0, 1, 2, 3]
    assert found(f"repository={one.id}") == [3, 2, 0]
    assert (found(f"job={job}"), found("state=partial"), found("state=complete")) == ([0], [1], [3, 2, 0])
    assert found("since=2026-11-30T03:00:00Z&until=2026-11-30T05:00:00Z") == [2, 1]
    assert (found(f"manifest={made[2].manifest_id}"), found(f"run={made[1].run_id}")) == ([2], [1])
    assert found(f"source={uuid.uuid4()}") == []
    first = ApiClient().get("backups?limit=3").json
    rest = ApiClient().get(f"backups?limit=3&cursor={first['next_cursor']}").json
    assert ([each["id"] for each in rest["backups"]], rest["next_cursor"]) == ([str(made[0].id)], None)
    for query in ("state=good", "x=1", "job=x", "since=yesterday", "limit=0", "ordering=files"):
        ApiClient().get(f"backups?{query}").refused(400, "VALIDATION_FAILED")
    ApiClient().get(f"backups?state=partial&cursor={first['next_cursor']}").refused(400, "CURSOR_REFUSED")


@pytest.mark.parametrize(
    ("filters", "index"),
    [("", "backups_newest"), ("state=partial", "backups_partial"), ("repository={place}", "backups_by_age")],
)
def test_each_page_begins_in_its_index(filters: str, index: str) -> None:
    place = make_repository()
    for number in range(4):
        make_backup(place, created_at=NOW + dt.timedelta(seconds=number), skipped=1)
    page = f"backups?limit=1&{filters.format(place=place.id)}"
    following = f"{page}&cursor={ApiClient().get(page).json['next_cursor']}"
    for address in (page, following):
        (listed,) = [one for one in asked(partial(ApiClient().get, address), "backups") if "LIMIT 2" in one]
        assert COUNTING.search(listed) is None
        plan = plan_of(listed, without=("seqscan", "sort", "bitmapscan", "hashjoin", "mergejoin"))
        assert f"using {index} on backups" in plan
        assert "Sort" not in plan


ENDPOINTS = [
    ("backups", {"repositories.read", "runs.read"}),
    (f"backups/{NOBODY}", {"repositories.read", "runs.read"}),
    (f"repositories/{NOBODY}/backups/x/files", {"repositories.read", "runs.read"}),
    (f"repositories/{NOBODY}/backups/x/find?pattern=x", {"repositories.read", "runs.read"}),
    (f"repositories/{NOBODY}/backups/x/content?path=x", {"backups.read_content"}),
    (f"lookups/{NOBODY}", {"repositories.read", "runs.read"}),
]


@pytest.mark.parametrize(("address", "rights"), ENDPOINTS)
def test_each_endpoint_asks_for_its_right(address: str, rights: set[str]) -> None:
    """E1."""
    ApiClient(token="").get(address).refused(401, "UNAUTHENTICATED")
    others = [scope for scope in ALL_SCOPES if scope not in rights]
    ApiClient(*others).get(address).refused(403, "PERMISSION_DENIED")
    for right in rights:
        assert ApiClient(right).get(address).status in {200, 404}
