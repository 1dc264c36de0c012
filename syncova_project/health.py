"""Is this process alive, and can it do its work: two views without login that tell no secret and no version.

Owns the probes. Ready means: the database takes a write, and the broker answers; the scheduler's age is told beside
it but does not make web unready (it answers without).
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswerError
from typing import Any, TypeVar

from django.conf import settings
from django.db import DatabaseError, Error, connection, transaction
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from kombu.connection import Connection

from syncova_project.rest import safe_only

T = TypeVar("T")

log = logging.getLogger(__name__)
_BROKER_SECONDS = 2.0
# A server that holds still answers no probe: after this it counts as failed.
_LIMIT_SECONDS = 5.0
_AGE = "SELECT extract(epoch FROM clock_timestamp() - last_pass_at) FROM scheduler_state"
_lock = threading.Lock()
_asked: "dict[str, Future[Any]]" = {}


@never_cache
@safe_only
def live(request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process answers at all."""
    return JsonResponse({"status": "ok"})


@never_cache
@safe_only
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 when the database takes a write and the broker answers, else 503 naming which does not.

    Answers within ten seconds, whatever the servers do. `scheduler_age_seconds`: since the last pass, null if unknown.
    """
    database, age = _within_limit("database", _ask_database) or (False, None)
    probes = {"database": database, "broker": probe_broker()}
    healthy = all(probes.values())
    body: dict[str, Any] = {
        "status": "ok" if healthy else "unavailable",
        "checks": {name: "ok" if passed else "failed" for name, passed in probes.items()},
        "scheduler_age_seconds": age,
    }
    return JsonResponse(body, status=200 if healthy else 503)


def probe_database() -> bool:
    """Tell whether the database takes a write: a read-only copy after a failover answers SELECT just as well."""
    return _passes("database", _write_something)


def probe_broker() -> bool:
    """Tell whether the broker answers within two seconds."""
    return _passes("broker", _reach_broker)


def scheduler_age() -> float | None:
    """Return the seconds since the scheduler's last pass by the database's clock; None where there was none."""
    with connection.cursor() as cursor:
        cursor.execute(_AGE)
        row = cursor.fetchone()
    return None if row is None or row[0] is None else round(float(row[0]), 1)


def _ask_database() -> tuple[bool, float | None]:
    try:
        if not probe_database():
            return False, None
        return True, scheduler_age()
    except Error as error:
        log.warning("the scheduler's age is not known: %s", type(error).__name__)
        return True, None
    finally:
        # This thread's own connection: a request's may hang on the very server that is asked about.
        connection.close()


def _within_limit(name: str, question: Callable[[], T]) -> T | None:
    """Return the answer of a thread, None when it takes too long; one asks at a time, however many want to know."""
    with _lock:
        asked = _asked.get(name)
        if asked is None or asked.done():
            asked = _asked[name] = Future()
            threading.Thread(target=_answer, args=(asked, question), name=f"probe-{name}", daemon=True).start()
    try:
        answer: T = asked.result(_LIMIT_SECONDS)
    except NoAnswerError:
        log.warning("%s does not answer within %d s", name, _LIMIT_SECONDS)
        return None
    except Error:
        return None
    return answer


def _answer(asked: "Future[T]", question: Callable[[], T]) -> None:
    try:
        asked.set_result(question())
    except Exception as error:
        # The edge of the thread: without an answer everybody would wait for ever.
        log.exception("the probe of a server failed")
        asked.set_exception(error)


def _write_something() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # Taking a transaction id is a write that leaves nothing behind; a server in recovery refuses it.
        cursor.execute("SELECT pg_current_xact_id(), current_setting('transaction_read_only')")
        if cursor.fetchone()[1] != "off":
            raise DatabaseError("the database is read-only")


def _reach_broker() -> None:
    options = {"socket_timeout": _BROKER_SECONDS, "socket_connect_timeout": _BROKER_SECONDS}
    connection_to = Connection(settings.SYNCOVA_BROKER_URL, transport_options=options)  # type: ignore[no-untyped-call]
    with connection_to as broker:
        broker.ensure_connection(max_retries=1, timeout=_BROKER_SECONDS)
        broker.default_channel.client.ping()


def _passes(name: str, probe: Callable[[], None]) -> bool:
    try:
        probe()
    except (Error, OSError) as error:
        log.warning("%s is not ready: %s", name, type(error).__name__)
        return False
    except Exception:
        # The edge of a probe: whatever a driver raises means "not ready", and the trace says what it was.
        log.exception("the probe of %s failed", name)
        return False
    return True
