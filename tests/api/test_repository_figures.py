"""A repository is shown with what its backups came to, in all and by day (7.3, C9)."""

import datetime as dt

import pytest

from syncova_project import clock
from tests.api.client import ApiClient
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
    }
    assert shown["trend"] == []
