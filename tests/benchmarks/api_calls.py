"""What `./syncova bench api` asks and how it is told (7.16).

Owns what needs Django to be set up; tests.benchmarks.api does that first.
"""

import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.test import Client

from jobs import calendar
from jobs.models import Job, Run, Schedule
from jobs.planning import planned
from syncova_project import clock
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.services import token_create
from tests.benchmarks.control import backend_of, cpu_seconds
from tests.benchmarks.history_rows import NOW

_DAILY: Final = {"type": "daily", "time": "13:00", "time_zone": "Europe/Berlin"}
_WARM: Final = 5


def plan(jobs: Sequence[Job]) -> None:
    """Give each job a schedule."""
    parsed = calendar.parse(_DAILY, anchor=NOW)
    common: dict[str, Any] = {
        "kind": parsed.kind,
        "definition": _DAILY,
        "anchor": NOW,
        "fingerprint": calendar.fingerprint(parsed, anchor=NOW),
        "created_at": NOW,
        **planned(parsed, parsed.next_after(NOW)),
    }
    Schedule.objects.bulk_create((Schedule(id=uuid.uuid4(), job=job, **common) for job in jobs), batch_size=5000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE schedules")


def measured(jobs: Sequence[Job], *, requests: int) -> Iterator[str]:
    """Yield a line for each endpoint."""
    settings.SYNCOVA_TOKEN_RATE = settings.SYNCOVA_ADDRESS_RATE = 0
    token = token_create(name="bench", scopes=ALL_SCOPES, now=clock.now())[1]
    client = Client(SERVER_NAME="127.0.0.1", headers={"Authorization": f"Bearer {token}"})
    ids = cycle(str(job.id) for job in jobs[:: max(1, len(jobs) // requests)])
    runs = cycle(str(one) for one in Run.objects.order_by("created_at").values_list("id", flat=True)[:requests])
    addresses: dict[str, Callable[[], str]] = {
        "GET /jobs": lambda: "jobs",
        "GET /jobs?search=": lambda: "jobs?search=queued+77",
        "GET /jobs/{id}": lambda: f"jobs/{next(ids)}",
        "GET /jobs/{id}/runs": lambda: f"jobs/{next(ids)}/runs",
        "GET /runs": lambda: "runs",
        "GET /runs?status=failed": lambda: "runs?status=failed",
        "GET /runs/{id}": lambda: f"runs/{next(runs)}",
        "GET /runs/{id}/events": lambda: f"runs/{next(runs)}/events",
        "GET /queue": lambda: "queue",
        "GET /repositories": lambda: "repositories",
    }
    for name, address in addresses.items():
        yield f"{name}: {_taken(client, address, requests)}"


def _taken(client: Client, address: Callable[[], str], requests: int) -> str:
    for _ in range(_WARM):
        _ask(client, address())
    backend = backend_of(connection)
    before, process, taken = cpu_seconds(backend), time.process_time(), []
    for _ in range(requests):
        begun = time.monotonic()
        _ask(client, address())
        taken.append(time.monotonic() - begun)
    own, database = time.process_time() - process, cpu_seconds(backend) - before
    taken.sort()
    wall = f"p50 {_ms(statistics.median(taken))}, p95 {_ms(taken[int(requests * 0.95)])}"
    processor = f"processor {_ms(own / requests)}, the database's {_ms(database / requests)}"
    return f"{wall}, {requests / sum(taken):.0f} requests/s; {processor}"


def _ask(client: Client, address: str) -> None:
    answer = client.get(f"/api/v1/{address}")
    if answer.status_code != 200:
        raise RuntimeError(f"{address} answered {answer.status_code}")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
