"""What counts as a database that is away, asked of real errors of a real server."""

import contextlib

import pytest
from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection, transaction

from syncova_project.database_faults import is_away
from workers import database

pytestmark = pytest.mark.django_db(transaction=True)


def run(*statements: str) -> None:
    """Execute statements in one transaction, the errors of all but the last ignored."""
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements[:-1]:
            with contextlib.suppress(DatabaseError):
                cursor.execute(statement)
        cursor.execute(statements[-1])


def test_a_read_only_server_is_waited_for() -> None:
    """A failover may leave a connection on the copy that takes no writes."""
    with pytest.raises(InternalError) as raised:
        run("SET TRANSACTION READ ONLY", "CREATE TABLE never (id int)")
    assert is_away(raised.value)


def test_an_aborted_transaction_is_a_fault_of_ours() -> None:
    with pytest.raises(InternalError) as raised:
        run("SELECT 1/0", "SELECT 1")
    assert not is_away(raised.value)


def test_an_ended_connection_is_waited_for_and_replaced() -> None:
    calls: list[int] = []

    def action() -> int:
        calls.append(1)
        with connection.cursor() as cursor:
            if len(calls) == 1:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            cursor.execute("SELECT 42")
            return int(cursor.fetchone()[0])

    assert database.until_done(action) == 42
    assert len(calls) == 2


def test_a_wrong_statement_is_raised_at_once() -> None:
    with pytest.raises(DatabaseError):
        database.until_done(lambda: connection.cursor().execute("SELECT no_such_column"))


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed")])
def test_waiting_ends_when_it_is_pointless(error: Exception) -> None:
    def action() -> None:
        raise error

    assert database.attempt(action) is None
    asked = iter([False, True])
    assert database.until_done(action, give_up=lambda: next(asked)) is None
