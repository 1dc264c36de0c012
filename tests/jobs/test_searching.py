"""Searches in the list of runs: the rows and the order that one condition finds which reads all of them (6.12)."""

import datetime as dt
import io
import random
from typing import Any

import pytest
from django.db import connection

from jobs import apps, search_indexes, searching
from jobs.listing import RUN_ORDERINGS, runs_matching
from jobs.searching import read_runs
from syncova_project.paging import PageRequest
from tests.benchmarks.history_rows import make_history
from tests.jobs.builders import NOW, make_job, make_run

pytestmark = pytest.mark.django_db

# Of all jobs, of one, of none; of all errors, of some, of one; in both names and errors; wild cards and quotes.
WORDS = ("nightly", "NIGHTLY 3", "weekly", "unreachable", "disk 1", "request 91 ", "e", "90", "%", "_", "\\", "'")


@pytest.fixture
def long_ago() -> list[Any]:
    """Some hundreds of finished runs of seven jobs, the last of which ran long ago alone, and one that waits."""
    jobs = [make_job(name=f"nightly {number}") for number in range(6)]
    rare = make_job(name="weekly 100%")
    make_history(jobs, runs=300)
    for days in range(100, 109):
        make_run(rare, "failed", created_at=NOW - dt.timedelta(days=days), error_code="O'CLOCK_100%")
    make_run(jobs[0])
    return [*jobs, rare]


def pages(filters: dict[str, Any], ordering: str, limit: int) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        page = read_runs(filters, PageRequest(RUN_ORDERINGS[ordering], filters, cursor, limit))
        found += [run.id for run in page.rows]
        cursor = page.next_cursor
    return found


@pytest.mark.parametrize("most", [1, 12, 1000])
def test_a_search_finds_what_one_condition_finds(
    long_ago: list[Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is found among the newest, by an index, or some by both."""
    monkeypatch.setattr(searching, "_NAMES_READ", most)
    monkeypatch.setattr(searching, "_ERRORS_READ", most)
    chance = random.Random(most)
    for word in WORDS:
        others = [{}, {"status": "failed"}, {"job": long_ago[3].id}, {"repository": long_ago[6].repository_id}]
        filters = {"search": word} | chance.choice(others)
        ordering = chance.choice(list(RUN_ORDERINGS))
        expected = runs_matching(filters).order_by(*RUN_ORDERINGS[ordering].terms()).values_list("id", flat=True)
        assert pages(filters, ordering, chance.choice([40, 200])) == list(expected), (filters, ordering)


def indexes() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE '%%by_part_of%%'", [])
        return {row[0] for row in cursor.fetchall()}


def test_what_is_missing_is_made_by_each_migrate() -> None:
    """Also where an extension that was not to be had before is there now."""
    assert indexes() == set(search_indexes.INDEXES)
    with connection.cursor() as cursor:
        cursor.execute("DROP EXTENSION pg_trgm CASCADE")
    assert indexes() == set()
    for _ in range(2):
        assert search_indexes.make_search_indexes(connection) == ""
        assert indexes() == set(search_indexes.INDEXES)


@pytest.mark.parametrize("extension", ["not_installed_here", "dblink"])
def test_a_server_without_the_extension_is_migrated_and_says_so(
    extension: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not there, or not for this role: searches answer without an index, and backups go on."""
    monkeypatch.setattr(search_indexes, "EXTENSION", extension)
    said = io.StringIO()
    apps._look_for_search_indexes(using="default", verbosity=1, stdout=said)
    assert f'extension "{extension}"' in said.getvalue()
    assert "CREATE EXTENSION pg_trgm" in said.getvalue()
