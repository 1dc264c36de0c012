"""The whole stack of one data directory: start in order, keep running, stop in bounded time.

Owns the order and the time limits. The caller holds the directory (ownership.owning) and decides when to stop; every
process runs in a session of its own, so that a terminal's Ctrl-C reaches the starter alone.
"""

import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from syncova_project import clock, env
from syncova_project.embedded import binding as bindings
from syncova_project.embedded import installation, members, ownership, postgres, processes, servers, valkey
from syncova_project.embedded.accounts import Account, own_name
from syncova_project.embedded.console import Console
from syncova_project.embedded.first_start import prepare_installation, wait_for_web
from syncova_project.embedded.layout import Layout, clear_scratch
from syncova_project.embedded.leftovers import stop_leftovers
from syncova_project.embedded.supervision import Member

# Seconds: together less than the 35 that an orderly stop may take.
MEMBERS_GRACE, POSTGRES_GRACE, VALKEY_GRACE = 29.0, 2.5, 1.0


@dataclass(frozen=True, slots=True)
class StackOptions:
    """What to run: `throwaway` servers write nothing durably; `environment` holds the settings of this start."""

    layout: Layout
    account: Account
    environment: env.Environment
    binding: bindings.Binding
    throwaway: bool = False


@dataclass(slots=True)
class Stack:
    """A started or starting stack; not safe for several threads."""

    options: StackOptions
    console: Console
    url: str = ""
    _servers: list[Member] = field(default_factory=list)
    _members: list[Member] = field(default_factory=list)
    _listener: socket.socket | None = None
    _record: ownership.OwnerRecord | None = None

    def start(self) -> None:
        """Start everything and return when web answers; on any error what was started is stopped first."""
        stop_leftovers(self.options.layout, self.console.say)
        clear_scratch(self.options.layout)
        self._listener = bindings.listen(self.options.binding)
        self.url = bindings.url_of(self.options.binding, self._listener)
        self._write("starting")
        try:
            environment = self._start_servers()
            prepare_installation(self.options.layout, environment, self._ctl_url())
            self._start_members(environment, self._listener)
            wait_for_web(self.options.layout, self.url, lambda: self._look("starting"))
        except BaseException:
            self.stop()
            raise
        self._write("ready")

    def look_after(self) -> None:
        """Notice members that ended and start them again; to be called a few times a second."""
        self._look("ready")

    def stop(self) -> None:
        """Stop everything, servers last, within 35 seconds; safe to repeat."""
        self._write("stopping")
        processes.wake(server.identity for server in self._servers if server.identity)
        running = [member.identity for member in self._members if member.identity]
        late = processes.stop(running, signal.SIGTERM, MEMBERS_GRACE)
        for member in self._members:
            if member.identity in late:
                self.console.say(f"{member.name} did not end in {MEMBERS_GRACE:.0f} s and was killed")
        self._members = []
        for server in self._servers:
            if server.identity and server.name == postgres.NAME:
                postgres.stop(server.identity, POSTGRES_GRACE)
            elif server.identity:
                valkey.stop(server.identity, VALKEY_GRACE)
        self._servers = []
        processes.stop(processes.writers_of(self.options.layout.logs), signal.SIGKILL, 1)
        if self._listener is not None:
            self._listener.close()
        ownership.forget_record(self.options.layout)

    def _start_servers(self) -> env.Environment:
        options, addresses = self.options, dict[str, str]()
        layout, account = options.layout, options.account

        def run_postgres() -> processes.Identity:
            processes.stop(processes.writers_of(layout.log(postgres.NAME)), signal.SIGQUIT, 5)
            running = servers.start_postgres(layout, account, throwaway=options.throwaway)
            addresses[installation.DATABASE] = running.application_url
            addresses[installation.MIGRATION] = running.owner_url
            return running.identity

        def run_valkey() -> processes.Identity:
            running = servers.start_valkey(layout, account)
            addresses[installation.BROKER] = running.url
            return running.identity

        starts = {
            installation.DATABASE: (postgres.NAME, run_postgres),
            installation.BROKER: (valkey.NAME, run_valkey),
        }
        for setting, (name, start) in starts.items():
            if not installation.is_operators(setting, options.environment, layout):
                self._servers.append(self._begun(name, account.name, start))
        return installation.keep_settings(layout, account, options.environment, addresses)

    def _start_members(self, environment: env.Environment, listener: socket.socket) -> None:
        options = self.options
        place = members.Place(
            options.layout, options.account, environment, options.binding, listener.fileno(), self.url
        )
        for command in members.commands(place):
            user = command.account.name if command.account else own_name()
            self._members.append(self._begun(command.name, user, _spawner(command)))

    def _begun(self, name: str, user: str, start: Callable[[], processes.Identity]) -> Member:
        member = Member(name, user, start, self.console.say, self.options.layout.log(name))
        member.begin()
        self.console.detail(f"{name}: process {member.identity.pid if member.identity else 0}, user {user}")
        return member

    def _ctl_url(self) -> str:
        # On loopback web knows its own address; elsewhere it answers to its public name alone.
        binding = self.options.binding
        return self.url if bindings.is_loopback(binding) or not binding.public_url else binding.public_url

    def _look(self, phase: str) -> None:
        changed = [member.look() for member in self._all()]
        if True in changed:
            self._write(phase)

    def _all(self) -> list[Member]:
        return [*self._servers, *self._members]

    def _write(self, phase: str) -> None:
        if self._record is None:
            own, since = processes.own_identity(), clock.now().isoformat(timespec="seconds")
            self._record = ownership.OwnerRecord(own.pid, own.started, self.url, since, phase)
        records = tuple(member.record() for member in self._all())
        try:
            ownership.write_record(self.options.layout, replace(self._record, phase=phase, members=records))
        except OSError as error:
            # A full disk: `status` then tells an older state, and what runs is still found by its logs.
            self.console.warn(f"The record of processes could not be written: {error.strerror}")


def _spawner(command: processes.Command) -> Callable[[], processes.Identity]:
    return lambda: processes.start(command)
