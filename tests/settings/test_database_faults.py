"""Whether the database is away: errors of the driver as they come, with and without a SQLSTATE (A16)."""

import psycopg2
import psycopg2.errors
import pytest
from django import db
from psycopg2.errorcodes import (
    ADMIN_SHUTDOWN,
    CANNOT_CONNECT_NOW,
    CHECK_VIOLATION,
    CONNECTION_FAILURE,
    CRASH_SHUTDOWN,
    DATATYPE_MISMATCH,
    DEADLOCK_DETECTED,
    DISK_FULL,
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    IN_FAILED_SQL_TRANSACTION,
    INSUFFICIENT_PRIVILEGE,
    IO_ERROR,
    LOCK_NOT_AVAILABLE,
    NUMERIC_VALUE_OUT_OF_RANGE,
    PROGRAM_LIMIT_EXCEEDED,
    QUERY_CANCELED,
    RAISE_EXCEPTION,
    READ_ONLY_SQL_TRANSACTION,
    TOO_MANY_CONNECTIONS,
    UNDEFINED_TABLE,
    UNIQUE_VIOLATION,
)

from syncova_project.database_faults import is_away, reason_of, sqlstate_of

LOST = "server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally\n"


def as_django_raises(driver: Exception) -> Exception:
    """Return the error that callers see: Django's, of the class that it has for the driver's."""
    kind = next((db.__dict__[each.__name__] for each in type(driver).__mro__ if each.__name__ in db.__all__), None)
    assert kind is not None
    error: Exception = kind(*driver.args)
    error.__cause__ = driver
    return error


def coded(code: str) -> Exception:
    """Return what the driver raises for an answer with this SQLSTATE."""

    class Coded(psycopg2.errors.lookup(code)):  # type: ignore[misc]  # untyped
        pgcode = code

    return as_django_raises(Coded("the server said this"))


@pytest.mark.parametrize(
    "driver", [psycopg2.DatabaseError(LOST), psycopg2.OperationalError(LOST), psycopg2.InterfaceError("is closed")]
)
def test_without_a_code_nobody_has_answered(driver: Exception) -> None:
    """The class is the driver's choice: it has plain DatabaseError for what was lost in the middle of an answer."""
    assert is_away(driver)
    assert is_away(as_django_raises(driver))
    assert sqlstate_of(as_django_raises(driver)) == ""


@pytest.mark.parametrize(
    "driver",
    [
        psycopg2.ProgrammingError("can't adapt type 'object'"),
        psycopg2.NotSupportedError("no"),
        psycopg2.DataError("no"),
        psycopg2.InternalError("no"),
    ],
)
def test_a_wrong_use_of_the_driver_is_no_outage(driver: Exception) -> None:
    assert not is_away(as_django_raises(driver))


def test_whatever_came_over_a_connection_that_is_closed_is_an_outage() -> None:
    class Connection:
        closed = 2

    class Cursor:
        connection = Connection()

    class Broken(psycopg2.InternalError):  # type: ignore[misc]  # untyped
        cursor = Cursor()

    assert is_away(as_django_raises(Broken("lost synchronization")))


@pytest.mark.parametrize(
    "code",
    [
        CONNECTION_FAILURE,
        ADMIN_SHUTDOWN,
        CRASH_SHUTDOWN,
        CANNOT_CONNECT_NOW,
        QUERY_CANCELED,
        TOO_MANY_CONNECTIONS,
        DISK_FULL,
        IO_ERROR,
        DEADLOCK_DETECTED,
        LOCK_NOT_AVAILABLE,
        READ_ONLY_SQL_TRANSACTION,
        IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ],
)
def test_an_answer_that_a_later_attempt_need_not_get_is_waited_for(code: str) -> None:
    assert is_away(coded(code))


@pytest.mark.parametrize(
    "code",
    [
        CHECK_VIOLATION,
        UNIQUE_VIOLATION,
        NUMERIC_VALUE_OUT_OF_RANGE,
        RAISE_EXCEPTION,
        UNDEFINED_TABLE,
        DATATYPE_MISMATCH,
        INSUFFICIENT_PRIVILEGE,
        IN_FAILED_SQL_TRANSACTION,
        # The driver has OperationalError for it; the same statement will never fit.
        PROGRAM_LIMIT_EXCEEDED,
    ],
)
def test_a_refusal_is_told_at_once(code: str) -> None:
    assert not is_away(coded(code))
    assert reason_of(coded(code)) == f"the server said this (SQLSTATE {code})"


@pytest.mark.parametrize("error", [db.DatabaseError("Save with update_fields did not affect any rows."), ValueError()])
def test_what_no_driver_has_said_is_no_outage(error: Exception) -> None:
    assert not is_away(error)


def test_a_reason_is_one_line() -> None:
    assert reason_of(as_django_raises(psycopg2.DatabaseError(LOST))) == "server closed the connection unexpectedly"
    assert reason_of(psycopg2.DatabaseError("  ")) == "it does not answer"
