"""Real servers and real Celery processes for the tests of this directory.

One `Stack` is a private PostgreSQL and Valkey with the migrated schema, plus the worker and beat processes that a
test starts in it. It may stop and kill any of them; the session's shared database is never touched.
"""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from django.db import connections
from django.test import override_settings
from redis import Redis

from syncova_project import clock, env
from syncova_project.connection_urls import database_settings
from syncova_project.embedded import accounts, layout, postgres, processes, servers, valkey
from tests import private_servers
from tests.canaries_watch import SESSION

T = TypeVar("T")

PROJECT = Path(__file__).resolve().parents[2]
# Fast enough for a test, and still 1 : 3 as the start-up check demands.
SHORT_TIMES = {
    "SYNCOVA_TICK_SECONDS": "1",
    "SYNCOVA_HEARTBEAT_SECONDS": "1",
    "SYNCOVA_ORPHAN_SECONDS": "5",
    "SYNCOVA_RETRY_SECONDS": "1",
}


@dataclass
class Stack:
    """The servers, and the processes started in them by name."""

    place: layout.Layout
    account: accounts.Account
    secret_key: str = field(default_factory=lambda: secrets.token_hex(32))
    database: servers.RunningPostgres | None = None
    broker: servers.RunningValkey | None = None
    running: dict[str, processes.Identity] = field(default_factory=dict)

    # --- servers

    def start_database(self) -> None:
        """Start PostgreSQL (again), on the same cluster."""
        self.database = servers.start_postgres(self.place, self.account, throwaway=True)

    def stop_database(self) -> None:
        """Stop PostgreSQL as an administrator would: every connection is ended."""
        assert self.database is not None
        postgres.stop(self.database.identity)
        connections["default"].close()

    def start_broker(self) -> None:
        """Start Valkey (again)."""
        self.broker = servers.start_valkey(self.place, self.account)

    def restart_broker(self) -> None:
        """Kill Valkey and start it again, empty."""
        assert self.broker is not None
        valkey.stop(self.broker.identity, grace=0)
        self.start_broker()

    def broker_signal(self, number: signal.Signals) -> None:
        """Signal Valkey, for instance SIGSTOP and SIGCONT."""
        assert self.broker is not None
        os.kill(self.broker.identity.pid, number)

    def broker_client(self) -> Redis:
        """Return a client of Valkey."""
        password = valkey.keep_password(self.place.secrets)
        return Redis(unix_socket_path=str(valkey.socket_path(self.place)), password=password)

    # --- processes

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a process of this stack."""
        assert self.database is not None
        assert self.broker is not None
        return {
            **env.inherited(without_settings=True),
            "PYTHONPATH": str(PROJECT),
            "SYNCOVA_DATA_DIR": str(self.place.root),
            "SYNCOVA_SETTINGS_FILE": str(self.place.root / "none.env"),
            "SYNCOVA_DATABASE_URL": self.database.application_url,
            "SYNCOVA_BROKER_URL": self.broker.url,
            "SYNCOVA_SECRET_KEYS": self.secret_key,
            "SYNCOVA_DJANGO_KEY": self.secret_key,
            **SHORT_TIMES,
            **(extra or {}),
        }

    def migrate(self) -> None:
        """Bring the schema up to date as its owner."""
        assert self.database is not None
        owner = {"SYNCOVA_DATABASE_URL": self.database.owner_url}
        command = [sys.executable, "manage.py", "migrate", "-v", "0"]
        subprocess.run(command, cwd=PROJECT, env=self.environment(owner), check=True)

    def start(self, name: str, *arguments: str, extra: Mapping[str, str] | None = None) -> processes.Identity:
        """Start one Celery process (`worker …` or `beat …`) in a session of its own."""
        argv = (sys.executable, "-m", "celery", "-A", "syncova_project", *arguments)
        command = processes.Command(name, argv, self.environment(extra), PROJECT, self.place.log(name), account=None)
        child = processes.spawn(command)
        self.running[name] = processes.identify(child.pid) or processes.Identity(child.pid, "")
        return self.running[name]

    def start_worker(self, name: str, *, group: str = "default", slots: int = 2, **extra: str) -> processes.Identity:
        """Start a worker that takes runs and lookups of `group`."""
        queues = f"work.{group},lookup.{group}"
        arguments = ("worker", "-Q", queues, "-n", f"{name}@%h", "--without-gossip", "--without-mingle", "-l", "INFO")
        return self.start(name, *arguments, extra={"SYNCOVA_WORKER_SLOTS": str(slots), **extra})

    def start_control(self, name: str = "control", **extra: str) -> processes.Identity:
        """Start a worker that runs passes."""
        arguments = ("worker", "-Q", "control", "-c", "1", "-n", f"{name}@%h", "--without-gossip", "--without-mingle")
        return self.start(name, *arguments, "-l", "INFO", extra=extra)

    def start_beat(self, name: str = "beat", **extra: str) -> processes.Identity:
        """Start one beat."""
        return self.start(name, "beat", "--pidfile=", "-l", "INFO", extra=extra)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Signal the main process of `name` alone, as `up`, systemd and compose do."""
        os.kill(self.running[name].pid, number)

    def kill_session(self, name: str) -> None:
        """Kill `name` with all of its children, as the OOM killer or a power cut would."""
        processes.kill_session(self.running.pop(name))

    def kill_processes(self, but: Sequence[str] = ()) -> None:
        """End the processes that were started, except those named; nothing is left to be done orderly."""
        ended = [self.running.pop(name) for name in list(self.running) if name not in but]
        for identity in ended:
            processes.kill_session(identity)
        assert processes.wait_gone(ended, 10) == []

    def log(self, name: str) -> str:
        """Return what `name` has logged."""
        return self.place.log(name).read_text(encoding="utf-8", errors="replace")

    @contextlib.contextmanager
    def used_by_django(self) -> Iterator[None]:
        """Let the Django of this process speak to this stack's servers."""
        assert self.database is not None
        assert self.broker is not None
        before, wrapper = connections.settings["default"], connections["default"]
        chosen = connections.configure_settings({"default": database_settings(self.database.application_url)})
        values: dict[str, Any] = {
            "SYNCOVA_BROKER_URL": self.broker.url,
            "SYNCOVA_SECRET_KEYS": [bytes.fromhex(self.secret_key)],
            "DATA_DIR": self.place.root,
        }
        connections.settings["default"] = chosen["default"]
        del connections["default"]
        try:
            with override_settings(**values):
                yield
        finally:
            connections["default"].close()
            connections.settings["default"] = before
            connections["default"] = wrapper

    def close(self) -> None:
        """End everything."""
        self.kill_processes()
        if self.database is not None:
            postgres.stop(self.database.identity)
        if self.broker is not None:
            os.kill(self.broker.identity.pid, signal.SIGCONT)
            valkey.stop(self.broker.identity)


@contextlib.contextmanager
def running_stack() -> Iterator[Stack]:
    """Yield a stack with both servers up and migrated."""
    with private_servers.session_directory() as directory:
        stack = Stack(*private_servers.layout_in(directory))
        (directory / "none.env").touch()
        try:
            stack.start_database()
            stack.start_broker()
            stack.migrate()
            yield stack
        finally:
            stack.close()
            SESSION.tree(directory)


def eventually(question: Callable[[], T | None], *, seconds: float = 30, what: str = "") -> T:
    """Return the first true answer; asserts that it comes within `seconds` (a bound against hanging, not a timing)."""
    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        answer = question()
        if answer:
            return answer
        clock.sleep(0.1)
    raise AssertionError(f"it did not happen within {seconds} s: {what or question}")
