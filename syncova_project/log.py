"""How log lines look: one line an event, for people or as JSON, never broken by what a name holds.

Owns the formatters and Django's LOGGING value. Must not decide what is logged.
"""

import datetime as dt
import json
import logging
import re
from typing import Any

from syncova_project.database_faults import is_away, reason_of, sqlstate_of

# Line breaks, escape codes and bidi controls in a file name must not forge a line or paint a terminal.
_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def single_line(text: str) -> str:
    """Return the text with control, bidi and unpaired characters escaped."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


_SERVER_FAULT = 500
_CHATTY = ("celery.app.trace", "celery.worker.strategy", "celery.beat")


class TextFormatter(logging.Formatter):
    """2026-01-31T02:00:00.123Z info jobs.tick: message, with a trace on escaped lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of one event."""
        line = f"{_instant(record)} {record.levelname.lower()} {record.name}: {single_line(record.getMessage())}"
        trace = [single_line(each) for each in _trace(self, record).splitlines()]
        if len(trace) == 1:
            return f"{line} ({trace[0]})"
        return "\n".join([line, *(f"  {each}" for each in trace)])


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, trace."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of one event."""
        event = {
            "time": _instant(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        trace = _trace(self, record)
        return json.dumps({**event, "trace": trace} if trace else event)


def logging_settings(level: str, form: str) -> dict[str, Any]:
    """Return the value of Django's LOGGING: everything to standard error in one form."""
    formatter = JsonFormatter if form == "json" else TextFormatter
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": f"{formatter.__module__}.{formatter.__qualname__}"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level.upper()},
        "loggers": {
            "django": {"handlers": [], "level": level.upper(), "propagate": True},
            "django.server": {"handlers": [], "level": level.upper(), "propagate": True},
            # A line or two for every tick, that is 17,000 a day, would bury what matters.
            **{name: {"level": "DEBUG" if level == "debug" else "WARNING"} for name in _CHATTY},
        },
    }


def _instant(record: logging.LogRecord) -> str:
    return dt.datetime.fromtimestamp(record.created, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(record.msecs):03}Z"


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    # Django hands a trace also with what the client did wrong (403, 404), once for every such request.
    if getattr(record, "status_code", _SERVER_FAULT) < _SERVER_FAULT:
        return ""
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    away = _server_away(record.exc_info[1])
    return away or formatter.formatException(record.exc_info)


def _server_away(error: BaseException | None) -> str:
    """Return one line for a database that cannot be reached, "" for every other error.

    An outage is no defect, and its hundreds of requests would each leave a trace that says the same. What the server
    itself answered has a code and keeps its trace.
    """
    if error is None or not type(error).__module__.startswith("django.db"):
        return ""
    return f"{type(error).__name__}: {reason_of(error)}" if is_away(error) and not sqlstate_of(error) else ""
