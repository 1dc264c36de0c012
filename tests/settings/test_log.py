"""Log lines: one event, one line, whatever the names in it hold."""

import json
import logging
import sys

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
