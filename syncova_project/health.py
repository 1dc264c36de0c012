"""Is this process alive, and can it do its work: two views without login that tell no secret and no version.

Owns the probes. Ready means: the database takes a write, and the broker answers; the scheduler's age is told beside
it but does not make web unready (it answers without).
"""

import logging
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from kombu.connection import Connection

from syncova_project.rest import safe_only

log = logging.getLogger(__name__)
_BROKER_SECONDS = 2.0


@never_cache
@safe_only
def live(request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process answers at all."""
    return JsonResponse({"status": "ok"})


@never_cache
@safe_only
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 when the database takes a write and the broker answers, else 503 naming which does not."""
    probes = {"database": probe_database(), "broker": probe_broker()}
    healthy = all(probes.values())
    body: dict[str, Any] = {
        "status": "ok" if healthy else "unavailable",
        "checks": {name: "ok" if passed else "failed" for name, passed in probes.items()},
    }
    return JsonResponse(body, status=200 if healthy else 503)


def probe_database() -> bool:
    """Tell whether the database takes a write: a read-only copy after a failover answers SELECT just as well."""
    return _passes("database", _write_something)


def probe_broker() -> bool:
    """Tell whether the broker answers within two seconds."""
    return _passes("broker", _reach_broker)


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
    except (DatabaseError, OSError) as error:
        log.warning("%s is not ready: %s", name, type(error).__name__)
        return False
    except Exception:
        # The edge of a probe: whatever a driver raises means "not ready", and the trace says what it was.
        log.exception("the probe of %s failed", name)
        return False
    return True
