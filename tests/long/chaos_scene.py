"""What the chaos of tests.long.chaos happens to: servers, processes, repositories, jobs, and a clock that can be set.

Owns the making, and starting again what was killed, as `up` does. Decides nothing about faults.
"""

import os
import socket
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from django.db import Error, connection

from jobs.database_time import database_now
from jobs.models import Job, Run, Schedule
from jobs.services import NewJob, SourceInput, job_create, job_pause
from jobs.states import ACTIVE_STATES
from syncova_project import clock
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.services import token_create
from syncova_project.embedded import postgres, processes
from tests.workers import scenario
from tests.workers.harness import PROJECT, Stack
from tests.workers.scenario import Ground

T = TypeVar("T")
GROUPS = ("alpha", "beta")
MINUTE = {"type": "interval", "every_seconds": 60}
# The clock that the product asks the database for, moved by a table: new sessions of its role find this function first.
_CLOCK = """
CREATE SCHEMA chaos;
CREATE TABLE chaos.clock (seconds double precision NOT NULL);
INSERT INTO chaos.clock VALUES (0);
CREATE FUNCTION chaos.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    'SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT seconds FROM chaos.clock))';
GRANT USAGE ON SCHEMA chaos TO syncova;
GRANT SELECT ON chaos.clock TO syncova;
ALTER ROLE syncova IN DATABASE syncova SET search_path = chaos, pg_catalog, public;
"""


def asked(question: Callable[[], T], *, seconds: float = 120.0) -> T:
    """Ask the database until it answers."""
    end = clock.monotonic() + seconds
    while True:
        try:
            return question()
        except Error:
            connection.close()
            if clock.monotonic() > end:
                raise
            clock.sleep(0.3)


@dataclass
class Scene:
    """The stack with its processes by name, two repositories of two groups, and their jobs."""

    stack: Stack
    directory: Path
    places: list[Ground] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    trees: dict[str, Path] = field(default_factory=dict)
    token: str = ""
    port: int = 0
    database_is_down: bool = False

    def make(self) -> None:
        """Make all of it; every tree stays as it is, so that each backup can be compared with it."""
        with postgres.connected(self.stack.place, "postgres", self._superuser(), "syncova") as cursor:
            cursor.execute(_CLOCK)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.token = token_create(name="chaos", scopes=sorted(ALL_SCOPES), now=database_now())[1]
        for group in GROUPS:
            self.places.append(scenario.ground(self.directory, group, name=f"repository-{group}"))
        for number in range(6):
            tree = scenario.small_tree(self.directory, f"tree-{number}")
            self._job(self.places[number % 2], tree, schedules=[{**MINUTE}])
        # One that is always in its middle, and one source that two jobs share.
        slow = scenario.large_tree(self.directory, "tree-slow", 3_000_000)
        self._job(self.places[0], slow, bandwidth=400_000)
        self._job(self.places[1], self.trees[str(self.directory / "tree-1")], schedules=[{**MINUTE}])
        self.keep_up()

    def keep_up(self) -> None:
        """Start what is not there."""
        for name in ("control", "beat", "web", *GROUPS):
            identity = self.stack.running.get(name)
            if identity is None or not processes.is_alive(identity):
                processes.wait_gone([identity] if identity else [], 0.1)
                self._start(name)

    def offset(self, seconds: float) -> None:
        """Set by how much the database's clock is off."""
        with postgres.connected(self.stack.place, "postgres", self._superuser(), "syncova") as cursor:
            cursor.execute("UPDATE chaos.clock SET seconds = %s", [seconds])

    def post(self, address: str, body: bytes = b"{}") -> int:
        """Ask web for something; return the answer's status, 0 for none."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1/{address}",
            data=body,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Host": "localhost"},
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def settle(self, *, seconds: float = 240.0) -> list[Run]:
        """Claim nothing more and wait for the end of all that is active; return the runs that are stuck."""
        for job in self.jobs:
            asked(lambda job=job: job_pause(job_id=job.id, actor="chaos", now=database_now()))  # type: ignore[misc]
        end = clock.monotonic() + seconds
        while clock.monotonic() < end:
            self.keep_up()
            left = asked(lambda: list(Run.objects.filter(state__in=ACTIVE_STATES)))
            if not left:
                return []
            clock.sleep(1.0)
        return left

    def _job(self, place: Ground, tree: Path, **more: Any) -> None:
        new = NewJob(
            name=f"job-{uuid.uuid4().hex[:8]}",
            repository_id=place.repository.id,
            sources=[SourceInput(path=os.fsencode(tree))],
            bandwidth_limit_bps=more.get("bandwidth"),
            schedules=more.get("schedules", ()),
        )
        self.jobs.append(job_create(new, actor="chaos", now=database_now()))
        self.trees[str(tree)] = tree

    def _start(self, name: str) -> None:
        roots = {"SYNCOVA_RESTORE_ROOTS": str(self.directory / "restores")}
        if name in GROUPS:
            self.stack.start_worker(name, group=name, slots=2, **roots)
        elif name == "control":
            self.stack.start_control()
        elif name == "beat":
            self.stack.start_beat()
        else:
            self._start_web()

    def _start_web(self) -> None:
        address = f"127.0.0.1:{self.port}"
        argv = [sys.executable, "-m", "gunicorn", "syncova_project.wsgi:application", "--bind", address]
        argv += ["--workers", "1", "--threads", "4", "--worker-class", "syncova_project.web.worker.WebWorker"]
        argv += ["--worker-connections", "50", "--no-control-socket", "--log-level", "warning"]
        place = self.stack.place
        command = processes.Command(
            "web", tuple(argv), self.stack.environment(), PROJECT, place.log("web"), account=None
        )
        child = processes.spawn(command)
        self.stack.running["web"] = processes.identify(child.pid) or processes.Identity(child.pid, "")

    def _superuser(self) -> str:
        return postgres.keep_passwords(self.stack.place.secrets).superuser


def schedules() -> list[Schedule]:
    """Return all schedules with their jobs."""
    return list(Schedule.objects.select_related("job").order_by("id"))
