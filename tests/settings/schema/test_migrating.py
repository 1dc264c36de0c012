"""Migrations that are cut off, fail or meet each other: real processes on a real database (H9, H10)."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest
from django.db import IntegrityError, connection, transaction

from syncova_project import clock
from tests.private_servers import TestDatabase
from tests.settings.schema.scratch import Scratch, scratch_database, told

ONE, TWO = "0001_one", "0002_two"
BOTH = (ONE, TWO)
MIGRATE, STATUS = ("migrate",), ("migrate", "status")
CONFIRMED = {"SYNCOVA_MIGRATE_CONFIRM_FORCE": "yes"}


@pytest.fixture
def scratch(tmp_path: Path, postgres_server: TestDatabase) -> Iterator[Scratch]:
    with scratch_database(tmp_path, postgres_server) as made:
        made.migration(ONE, "CREATE TABLE one (id int)")
        yield made


def row(scratch: Scratch) -> tuple[int, str, str]:
    return tuple(scratch.query("SELECT n, state, migration FROM schema_version")[0])


def applied(scratch: Scratch) -> list[str]:
    found = scratch.query("SELECT name FROM django_migrations WHERE app = 'steps' ORDER BY name")
    return [name for (name,) in found]


def until(scratch: Scratch, condition: str) -> None:
    end = clock.monotonic() + 30
    while not scratch.query(f"SELECT 1 WHERE {condition}"):
        assert clock.monotonic() < end, condition
        clock.sleep(0.05)


def cut_off(scratch: Scratch, *, atomic: bool) -> None:
    """Kill a migration between its two statements: the second waits for a lock that this test holds."""
    scratch.migration(TWO, "CREATE TABLE two (id int)", "ALTER TABLE one ADD COLUMN more int", after=ONE, atomic=atomic)
    ((code, said),) = scratch.run(("migrate", "steps", ONE), steps=BOTH)
    assert code == 0, said
    holder = psycopg2.connect(scratch.url)
    holder.cursor().execute("LOCK TABLE one IN ACCESS EXCLUSIVE MODE")
    child = scratch.start(MIGRATE, steps=BOTH)
    until(scratch, "EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'one'::regclass)")
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    # The server's process notices its client's end when it has done the statement that it is at.
    scratch.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    holder.close()
    until(scratch, "NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7365004)")


def test_a_migration_killed_in_the_middle_is_told_and_goes_on(scratch: Scratch) -> None:
    """Its transaction left nothing, so that the next `migrate` does it again."""
    cut_off(scratch, atomic=True)
    assert row(scratch) == (3, "running", "steps.0002_two")
    assert applied(scratch) == [ONE]
    status, again, forced = scratch.run(STATUS, MIGRATE, ("migrate", "force", "3"), steps=BOTH, **CONFIRMED)
    assert "schema version 3 of 4, INTERRUPTED at steps.0002_two since" in status[1]
    assert again[0] == 0, again[1]
    assert row(scratch) == (4, "clean", "steps.0002_two")
    assert applied(scratch) == [ONE, TWO]
    # H10: refused on a clean database.
    assert (forced[0], "MIGRATION_FORCE_REFUSED" in forced[1], "clean" in forced[1]) == (1, True, True)


def test_one_without_a_transaction_may_be_half_done_and_is_forced_by_a_person(scratch: Scratch) -> None:
    """H10: force only claims; it prints before and after, and wants to be confirmed."""
    cut_off(scratch, atomic=False)
    assert scratch.query("SELECT to_regclass('two') IS NOT NULL") == [(True,)]
    again, unconfirmed = scratch.run(MIGRATE, ("migrate", "force", "4"), steps=BOTH)
    assert (again[0], "SCHEMA_INTERRUPTED" in again[1], "may be half done" in again[1]) == (1, True, True)
    assert (unconfirmed[0], "SYNCOVA_MIGRATE_CONFIRM_FORCE=yes" in unconfirmed[1]) == (1, True)
    assert row(scratch) == (3, "running", "steps.0002_two")
    scratch.query("ALTER TABLE one ADD COLUMN more int")
    commands = [*(("migrate", "force", n) for n in ("5", "0", "x", "4")), MIGRATE]
    *wrong, forced, after = scratch.run(*commands, steps=BOTH, **CONFIRMED)
    assert [code for code, _ in wrong] == [1, 1, 1]
    was, _, became = forced[1].partition("after:")
    assert (forced[0], "INTERRUPTED" in was, "version 4 of 4, clean" in became) == (0, True, True)
    assert "No migrations to apply" in after[1]
    assert applied(scratch) == [ONE, TWO]


def test_forcing_back_takes_rows_away_and_no_table(scratch: Scratch) -> None:
    scratch.migration(TWO, "CREATE TABLE two (id int)", "SELECT 1 / 0", after=ONE)
    failed, status, forced = scratch.run(MIGRATE, STATUS, ("migrate", "force", "2"), steps=BOTH, **CONFIRMED)
    # What fails leaves nothing of itself, and says so.
    assert (failed[0], "division by zero" in failed[1]) == (99, True)
    assert "version 3 of 4, FAILED at steps.0002_two" in status[1]
    assert scratch.query("SELECT to_regclass('two') IS NULL") == [(True,)]
    assert (forced[0], row(scratch)[:2], applied(scratch)) == (0, (2, "clean"), [])
    assert scratch.query("SELECT to_regclass('one') IS NOT NULL") == [(True,)]


def test_an_older_program_changes_nothing(scratch: Scratch) -> None:
    """H9: it refuses before any migration. A database from before the table is taken for clean."""
    scratch.migration(TWO, "CREATE TABLE two (id int)", after=ONE)
    assert [code for code, _ in scratch.run(MIGRATE, steps=BOTH)] == [0]
    scratch.query("DROP TABLE schema_version")
    status, again = scratch.run(STATUS, MIGRATE, steps=BOTH)
    assert ("never noted" in status[1], again[0], row(scratch)[:2]) == (True, 0, (4, "clean"))
    (scratch.directory / "steps" / "migrations" / f"{TWO}.py").unlink()
    commands = [MIGRATE, ("migrate", "steps", "zero"), ("migrate", "--check"), ("migrate", "force", "3")]
    for code, said in scratch.run(*commands, steps=(ONE,), **CONFIRMED):
        assert (code, "SCHEMA_NEWER" in said) == (1, True)
    assert (row(scratch)[0], applied(scratch)) == (4, [ONE, TWO])


def test_two_at_once_do_it_once(scratch: Scratch) -> None:
    """H9: a named lock; the second waits for the first, and finds nothing to do."""
    scratch.migration(TWO, "CREATE TABLE two (id int)", after=ONE)
    holder = psycopg2.connect(scratch.url)
    holder.cursor().execute("SELECT pg_advisory_lock(7365004)")
    rivals = [scratch.start(MIGRATE, steps=BOTH) for _ in range(2)]
    others = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%try_advisory%' AND pid <> pg_backend_pid()"
    until(scratch, f"({others}) = 2")
    holder.close()
    said = [told(rival)[0] for rival in rivals]
    assert [code for code, _ in said] == [0, 0], said
    assert sum("Applying steps.0002_two... OK" in text for _, text in said) == 1
    assert all("Waiting for another migrate" in text for _, text in said)


def test_who_claims_a_version_waits_for_nobody(scratch: Scratch) -> None:
    """H10: while a migration works, force is refused at once, and claims nothing."""
    assert [code for code, _ in scratch.run(MIGRATE, steps=(ONE,))] == [0]
    before = row(scratch)
    holder = psycopg2.connect(scratch.url)
    holder.cursor().execute("SELECT pg_advisory_lock(7365004)")
    ((code, said),) = scratch.run(("migrate", "force", "2"), steps=(ONE,), **CONFIRMED)
    holder.close()
    refusal, _, message = said.strip().rpartition("\n")[2].removeprefix("CommandError: ").partition(": ")
    assert (code, refusal, row(scratch)) == (1, "MIGRATION_BUSY", before), said
    assert "./syncova manage migrate status" in message


@pytest.mark.parametrize(
    ("values", "constraint"),
    [
        ("2, 1, 'clean', ''", "schema_version_has_one_row"),
        ("1, -1, 'clean', ''", "schema_version_is_not_negative"),
        ("1, 1, 'dirty', 'jobs.0001'", "schema_version_state_is_known"),
        ("1, 1, 'running', ''", "schema_version_names_what_is_in_hand"),
    ],
)
@pytest.mark.django_db
def test_what_the_row_must_hold(values: str, constraint: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM schema_version")
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            cursor.execute(f"INSERT INTO schema_version (id, n, state, migration, changed_at) VALUES ({values}, now())")
