"""Log lines: one event, one line, whatever the names in it hold."""

import json
import logging
import sys

import psycopg2
from django import db

from syncova_project.log import JsonFormatter, TextFormatter, logging_settings


def record(message: str, *arguments: object) -> logging.LogRecord:
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        trace = sys.exc_info()
    return logging.LogRecord("jobs.tick", logging.WARNING, "file", 1, message, arguments, trace)


def test_a_hostile_name_forges_no_line_and_paints_no_terminal():
    text = TextFormatter().format(record("backed up %s", "a\n2026 info root: all well\x1b[2J\u202e\udcff"))
    first, *trace = text.splitlines()
    assert first.endswith("warning jobs.tick: backed up a\\n2026 info root: all well\\x1b[2J\\u202e\\udcff")
    assert all(line.startswith("  ") for line in trace)


def test_a_json_line_is_one_object():
    line = JsonFormatter().format(record("backed up %s", "a\nb\udcff"))
    assert "\n" not in line
    assert json.loads(line)["message"] == "backed up a\nb\udcff"
    assert json.loads(line)["level"] == "warning"


def test_what_a_client_did_wrong_leaves_no_trace_in_the_log():
    refused, broken = record("Forbidden"), record("Internal Server Error")
    refused.status_code, broken.status_code = 403, 500
    assert len(TextFormatter().format(refused).splitlines()) == 1
    assert len(TextFormatter().format(broken).splitlines()) > 1
    assert "trace" not in json.loads(JsonFormatter().format(refused))


def test_the_form_follows_the_setting():
    assert logging_settings("info", "json")["formatters"]["line"]["()"].endswith("JsonFormatter")
    assert logging_settings("debug", "text")["root"]["level"] == "DEBUG"


def unreachable(cause: Exception) -> logging.LogRecord:
    """Return what is logged of a request while the database is away, as Django wraps the driver's error."""
    try:
        raise db.OperationalError("connection to server on socket failed\n\tIs the server running?") from cause
    except db.OperationalError:
        trace = sys.exc_info()
    return logging.LogRecord("django.request", logging.ERROR, "file", 1, "A request failed", (), trace)


def test_a_database_that_is_away_leaves_one_line_for_each_request():
    away = unreachable(psycopg2.OperationalError("connection to server on socket failed"))
    (line,) = TextFormatter().format(away).splitlines()
    assert line.endswith("A request failed (OperationalError: connection to server on socket failed)")
    assert json.loads(JsonFormatter().format(away))["trace"].startswith("OperationalError: connection")


def test_what_the_database_answered_keeps_its_trace():
    class Deadlock(psycopg2.OperationalError):  # type: ignore[misc]  # untyped
        pgcode = "40P01"

    assert len(TextFormatter().format(unreachable(Deadlock("deadlock detected"))).splitlines()) > 3
