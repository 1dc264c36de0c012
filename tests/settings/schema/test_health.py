"""The health check of the metadata (H9): each thing that keeps rows true, taken away for a moment."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from syncova_project.named_locks import NamedLock, holders
from syncova_project.schema.health import TRIGGERS, problems
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

_OURS = """
SELECT tgname FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid
WHERE NOT tgisinternal AND relname NOT LIKE 'django%'
"""


def do(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_a_migrated_database_is_whole_and_the_list_of_triggers_is_complete() -> None:
    out = StringIO()
    call_command("check_metadata", stdout=out)
    assert "the metadata is whole" in out.getvalue()
    with connection.cursor() as cursor:
        cursor.execute(_OURS)
        assert {name for (name,) in cursor.fetchall()} == TRIGGERS


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("ALTER TABLE runs DISABLE TRIGGER runs_finished_is_final", "trigger runs_finished_is_final"),
        ("DROP TRIGGER run_events_is_append_only ON run_events", "trigger run_events_is_append_only"),
        ("ALTER TABLE runs DROP CONSTRAINT runs_attempt_is_1_to_10", "runs_attempt_is_1_to_10 is missing"),
        ("DROP INDEX runs_one_active_per_job", "runs_one_active_per_job is missing"),
        ("DROP INDEX backups_by_job", "backups_by_job is missing"),
        ("UPDATE schema_version SET state = 'failed', migration = 'jobs.0002_guards'", "SCHEMA_INTERRUPTED"),
        ("UPDATE schema_version SET n = 100000", "SCHEMA_NEWER"),
    ],
)
def test_what_is_missing_is_told(harm: str, told: str) -> None:
    do(harm)
    (found,) = problems(connection)
    assert told in found
    with pytest.raises(CommandError, match="not whole"):
        call_command("check_metadata", stdout=StringIO())


def test_a_sequence_that_stands_behind_is_told() -> None:
    """A restore that left sequences out would give fences out twice."""
    make_repository(fence_intended=10**12)
    (found,) = problems(connection)
    assert "fences would be given out twice" in found


def test_who_holds_a_named_lock_is_told() -> None:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [int(NamedLock.ADMISSION)])
        assert [holder.lock for holder in holders(connection)] == [NamedLock.ADMISSION]
        assert holders(other) == []
    finally:
        other.close()
