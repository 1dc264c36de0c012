"""Who may start on a database: every relation of what a program knows and what the tables stand at (H9)."""

from dataclasses import replace

import pytest

from syncova_project.schema.judgement import newer, unfit
from syncova_project.schema.record import SchemaState, SchemaVersion, Standing

STEPS = ("a.1", "a.2", "b.1")
CLEAN, RUNNING, FAILED = SchemaState.CLEAN, SchemaState.RUNNING, SchemaState.FAILED


def standing(n: int | None, state: SchemaState = CLEAN, migration: str = "", *more: str) -> Standing:
    version = None if n is None else SchemaVersion(n, state, migration)
    return Standing(version, frozenset((*STEPS[: n or 0], *more)))


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (standing(3), None),
        (standing(3, CLEAN, "b.1"), None),
        (standing(2), "SCHEMA_OUTDATED"),
        (standing(None), "SCHEMA_OUTDATED"),
        (standing(2, RUNNING, "b.1"), "SCHEMA_INTERRUPTED"),
        (standing(3, FAILED, "b.1"), "SCHEMA_INTERRUPTED"),
        (standing(4), "SCHEMA_NEWER"),
        (standing(3, CLEAN, "", "c.1"), "SCHEMA_NEWER"),
        (standing(3, RUNNING, "c.1"), "SCHEMA_NEWER"),
        (standing(None, CLEAN, "", "a.3"), "SCHEMA_NEWER"),
        # On this program's disk, though nobody has put it into the table.
        (replace(standing(3, CLEAN, "c.1", "c.1"), untabled=frozenset({"c.1"})), None),
    ],
)
def test_who_may_start(found: Standing, code: str | None) -> None:
    problem = unfit(found, STEPS)
    assert (None if problem is None else problem.code) == code
    assert problem is None or problem.hint


def test_before_a_migration_only_a_newer_database_is_refused() -> None:
    """H9: before any migration; what is cut off or outdated is what a migration is for."""
    assert newer(standing(1, RUNNING, "a.2"), STEPS) is None
    assert newer(standing(None), STEPS) is None
    problem = newer(standing(3, RUNNING, "c.1"), STEPS)
    assert problem is not None
    assert "older than its database" in problem.message
