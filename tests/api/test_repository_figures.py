"""A repository is shown with what its backups came to and its checks have proven, in all and by day (7.3, C9)."""

import datetime as dt
from typing import Any

import pytest

from syncova_project import clock
from tests.api.client import ApiClient
from tests.api.test_history_indexes import asked, long_history, plan_of
from tests.jobs.builders import make_run
from tests.repositories.builders import make_backup, make_repository

pytestmark = pytest.mark.django_db
DAY = dt.timedelta(days=1)


def test_totals_and_days_are_those_of_its_own_backups() -> None:
    repository, today = make_repository(), clock.now().replace(hour=0, minute=0, second=5)
    for moment, stored in (
        (today, 5),
        (today, 7),
        (today - 3 * DAY, 11),
        (today - 29 * DAY, 13),
        (today - 40 * DAY, 17),
    ):
        sizes = {"bytes_stored": stored, "bytes_read": 100, "logical_bytes": 1000}
        make_backup(repository, created_at=moment, source_name=f"/srv/{stored % 2}", **sizes)
    make_backup(make_repository(), bytes_stored=99)
    shown = ApiClient().get(f"repositories/{repository.id}").json
    figures = shown["figures"]
    assert (figures["backups"], figures["sources"], figures["bytes_stored"], figures["bytes_read"]) == (5, 1, 53, 500)
    assert dt.datetime.fromisoformat(figures["newest_at"]) == today
    assert dt.datetime.fromisoformat(figures["oldest_at"]) == today - 40 * DAY
    told = [(one["day"], one["backups"], one["bytes_stored"], one["logical_bytes"]) for one in shown["trend"]]
    days = [(today - days * DAY).date().isoformat() for days in (29, 3, 0)]
    assert told == [(days[0], 1, 13, 1000), (days[1], 1, 11, 1000), (days[2], 2, 12, 2000)]


def test_a_repository_without_backups_has_none() -> None:
    shown = ApiClient().get(f"repositories/{make_repository().id}").json
    assert shown["figures"] == {
        "backups": 0,
        "sources": 0,
        "bytes_read": 0,
        "bytes_stored": 0,
        "oldest_at": None,
        "newest_at": None,
        "proof": None,
    }
    assert shown["trend"] == []


def make_check(repository: Any, moment: dt.datetime, verified: int | None, *, total: int = 300, **fields: Any) -> None:
    """Make a check that ended at a moment; None: one that told no proof."""
    proof = {"bytes": total, "verified_bytes": verified, "oldest_verified_at": "2026-10-01T00:00:00.000000Z"}
    told = {"reason_parameters": {} if verified is None else {"proof": proof}, "reason_code": "completed"}
    moments = dict.fromkeys(("created_at", "scheduled_for", "not_before", "admitted_at", "started_at"), moment)
    values = {"kind": "check", "repository": repository, "finished_at": moment, **moments, **told}
    make_run(None, fields.pop("state", "succeeded"), **(values | fields))


def test_the_proven_share_is_what_each_days_last_check_told() -> None:
    """Also of a check that found damage; a day without a proof has none, and nothing is carried over to it."""
    repository, today = make_repository(), clock.now().replace(hour=0, minute=0, second=5)
    hour = dt.timedelta(hours=1)
    make_check(repository, today - 40 * DAY, 9)
    make_check(repository, today - 9 * DAY, 100)
    make_check(repository, today - 9 * DAY - 3 * DAY, None)
    make_check(repository, today - 4 * DAY, 120)
    make_check(repository, today - 4 * DAY + hour, 299, state="failed", reason_code="executor_failed")
    make_check(repository, today, 300)
    make_check(make_repository(), today - 2 * DAY, 1)
    make_backup(repository, created_at=today - 4 * DAY, bytes_stored=5)
    make_backup(repository, created_at=today - 3 * DAY)
    shown = ApiClient().get(f"repositories/{repository.id}").json
    told = [(one["day"], one["backups"], one["proof"] and one["proof"]["percent"]) for one in shown["trend"]]
    days = {days: (today - days * DAY).date().isoformat() for days in (9, 4, 3, 0)}
    assert told == [(days[9], 0, 33), (days[4], 1, 99), (days[3], 1, None), (days[0], 0, 100)]
    assert shown["figures"]["proof"] == {
        "bytes": 300,
        "verified_bytes": 300,
        "percent": 100,
        "oldest_verified_at": "2026-10-01T00:00:00.000000Z",
    }


def test_what_is_proven_is_read_without_the_history() -> None:
    """With thousands of backup runs: an index leads to the checks."""
    long_history()
    repository, client = make_repository(), ApiClient()
    make_check(repository, clock.now(), 100)
    asks = asked(lambda: client.get(f"repositories/{repository.id}"), "runs")
    assert len(asks) == 2
    for query in asks:
        assert "Seq Scan on runs" not in plan_of(query), query


def test_what_the_newest_check_did_not_tell_is_not_claimed() -> None:
    """As the admin's page says it: a check that was cut off leaves the share unknown, and an empty one has none."""
    repository, now = make_repository(), clock.now()
    make_check(repository, now, 0, total=0)
    shown = ApiClient().get(f"repositories/{repository.id}").json
    assert (shown["figures"]["proof"]["bytes"], shown["figures"]["proof"]["percent"]) == (0, None)
    make_check(repository, now + dt.timedelta(seconds=1), None, state="cancelled")
    shown = ApiClient().get(f"repositories/{repository.id}").json
    assert shown["figures"]["proof"] is None
    assert [one["proof"]["bytes"] for one in shown["trend"]] == [0]
