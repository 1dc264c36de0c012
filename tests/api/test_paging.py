"""Pages by key: every row once, whatever is equal, in both directions; the place is found by the index."""

import datetime as dt
from typing import Any

import pytest
from django.core import signing
from django.db import connection

from jobs.listing import RUN_ORDERINGS, runs_matching
from jobs.models import Run
from syncova_project.paging import SALT, CursorRefusedError, Ordering, PageRequest, read_page
from tests.benchmarks.history_rows import make_history
from tests.jobs.builders import NOW, make_job, make_run

pytestmark = pytest.mark.django_db


def read_all(ordering: Ordering, limit: int) -> list[Any]:
    """Return the ids of all pages."""
    found, cursor = [], ""
    while True:
        page = read_page(runs_matching({}), PageRequest(ordering, {}, cursor, limit))
        found += [row.pk for row in page.rows]
        if page.next_cursor is None:
            return found
        cursor = page.next_cursor


@pytest.mark.parametrize("name", ["created_at", "-created_at"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
def test_rows_of_equal_value_are_told_apart_by_id(name: str, limit: int) -> None:
    for number in range(7):
        make_run(make_job(), created_at=NOW + dt.timedelta(microseconds=number // 3))
    expected = list(Run.objects.order_by("created_at", "id").values_list("id", flat=True))
    expected = expected if name == "created_at" else expected[::-1]
    assert read_all(RUN_ORDERINGS[name], limit) == expected


def test_the_place_is_a_condition_of_the_index_not_a_filter() -> None:
    """No page costs more than the one before, however deep it lies."""
    make_history([make_job() for _ in range(20)], runs=800)
    ordering = RUN_ORDERINGS["-created_at"]
    cursor = read_page(runs_matching({}), PageRequest(ordering, {}, "", 1)).next_cursor
    assert cursor is not None
    with connection.cursor() as database:
        database.execute("SET LOCAL enable_seqscan = off")
        database.execute("SET LOCAL enable_sort = off")
    queries: list[str] = []

    def keep(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        queries.append(context["cursor"].mogrify(sql, params).decode())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(keep):
        read_page(runs_matching({}), PageRequest(ordering, {}, cursor, 1))
    with connection.cursor() as database:
        database.execute(f"EXPLAIN {queries[0]}")
        plan = "\n".join(row[0] for row in database.fetchall())
    assert "Index Scan using runs_by_age" in plan
    assert "Index Cond: (created_at <=" in plan


@pytest.mark.parametrize("cursor", ["x", "a:b:c", signing.dumps(["x", None, "1"], key="another", salt=SALT)])
def test_a_foreign_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(CursorRefusedError):
        read_page(runs_matching({}), PageRequest(RUN_ORDERINGS["created_at"], {}, cursor, 1))


def test_a_cursor_of_other_filters_is_refused() -> None:
    signed = signing.dumps(["other", None, str(Run().pk)], salt=SALT)
    with pytest.raises(CursorRefusedError):
        read_page(runs_matching({}), PageRequest(RUN_ORDERINGS["created_at"], {}, signed, 1))
