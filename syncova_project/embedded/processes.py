"""Start a process in a session of its own, recognise it later, and stop it in bounded time.

Owns the identity of a process (pid and start time, so that a reused pid is never signalled). Knows no server.
"""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from syncova_project import clock
from syncova_project.embedded.accounts import Account

_POLL_SECONDS = 0.05
_LAST_THREAD_SECONDS = 2.0
# Children by pid, kept until their end was asked for: a dropped Popen would be reaped at any time, its code lost.
_children: "dict[int, subprocess.Popen[bytes]]" = {}
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: argv without secrets, whole environment, log file, and the account to switch to."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    log: Path
    account: Account | None = None
    inherited_descriptors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that can be told from a later one with the same pid."""

    pid: int
    started: str


def spawn(command: Command) -> "subprocess.Popen[bytes]":
    """Start the command in a new session, its output appended to its log (0600); raises OSError."""
    switch = command.account if command.account is not None and command.account.switched else None
    log = os.open(command.log, _LOG_FLAGS, 0o600)
    try:
        return subprocess.Popen(
            command.argv,
            env=dict(command.environment),
            cwd=command.directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=command.inherited_descriptors,
            umask=0o077,
            user=switch.uid if switch else None,
            group=switch.gid if switch else None,
            extra_groups=[] if switch else None,
        )
    finally:
        os.close(log)


def start(command: Command) -> Identity:
    """Start the command and return its identity; raises OSError. Its end is reaped here: see `ending`."""
    child = spawn(command)
    _children[child.pid] = child
    return identify(child.pid) or Identity(child.pid, "")


def ending(identity: Identity) -> str:
    """Return how a child of ours ended ("exit code 1", "SIGKILL"), or "" when that is not known."""
    child = _children.pop(identity.pid, None)
    code = None
    if child is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            # A process is a zombie as soon as its first thread is; its code is there when the last one is gone.
            code = child.wait(_LAST_THREAD_SECONDS)
    if code is None:
        return ""
    if code >= 0:
        return f"exit code {code}"
    return next((each.name for each in signal.Signals if each == -code), f"signal {-code}")


def own_identity() -> Identity:
    """Return this process's identity."""
    return identify(os.getpid()) or Identity(os.getpid(), "")


def identify(pid: int) -> Identity | None:
    """Return the identity of a live process, or None when there is none (a zombie is none)."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return None if Path("/proc/self/stat").exists() else _identify_by_ps(pid)
    except ProcessLookupError:
        return None
    # The name stands in parentheses and may hold anything; the fields after it count from 3.
    fields = content[content.rindex(b")") + 2 :].split()
    return None if fields[0] in {b"Z", b"X"} else Identity(pid, fields[19].decode())


def is_alive(identity: Identity) -> bool:
    """Tell whether exactly this process still runs."""
    return identify(identity.pid) == identity


def is_stopped(identity: Identity) -> bool:
    """Tell whether a signal holds this process still (Linux; elsewhere never)."""
    try:
        content = Path(f"/proc/{identity.pid}/stat").read_bytes()
    except OSError:
        return False
    return content[content.rindex(b")") + 2 :].split()[0] in {b"T", b"t"}


def send(identity: Identity, number: signal.Signals) -> None:
    """Signal exactly this process, and wake it should it be stopped; one that is gone is fine."""
    if not is_alive(identity):
        return
    for each in (number, signal.SIGCONT):
        try:
            os.kill(identity.pid, each)
        except ProcessLookupError:
            return


def wake(identities: Iterable[Identity]) -> None:
    """Let processes go on that a signal stopped: what waits for them could not end otherwise."""
    for identity in identities:
        if is_alive(identity):
            with contextlib.suppress(ProcessLookupError):
                os.kill(identity.pid, signal.SIGCONT)


def kill_session(identity: Identity) -> None:
    """Kill the process and everything left in its process group."""
    try:
        if os.getpgid(identity.pid) == identity.pid:
            os.killpg(identity.pid, signal.SIGKILL)
            return
    except ProcessLookupError:
        pass
    send(identity, signal.SIGKILL)


def wait_gone(identities: Sequence[Identity], seconds: float) -> list[Identity]:
    """Wait until all are gone or the time is over; return those still alive. Own children are reaped."""
    end = clock.monotonic() + seconds
    while True:
        for identity in identities:
            _reap(identity.pid)
        alive = [identity for identity in identities if is_alive(identity)]
        if not alive or clock.monotonic() >= end:
            return alive
        clock.sleep(_POLL_SECONDS)


def stop(identities: Sequence[Identity], number: signal.Signals, grace: float) -> list[Identity]:
    """Ask all to end, wait `grace` seconds, kill the rest; return those that had to be killed."""
    for identity in identities:
        send(identity, number)
    late = wait_gone(identities, grace)
    for identity in late:
        kill_session(identity)
    wait_gone(late, 5)
    return late


def writers_of(logs: Path) -> list[Identity]:
    """Return the processes whose standard output is this log, or a log in this directory (Linux; elsewhere none).

    Every process of a stack writes to its own log, so this finds also those that no record names.
    """
    wanted = os.fsencode(logs.resolve())
    found = []
    for entry in Path("/proc").glob("[0-9]*") if Path("/proc").is_dir() else ():
        try:
            target = os.fsencode((entry / "fd" / "1").readlink())
        except OSError:
            continue
        matches = target == wanted or target.startswith(wanted + b"/")
        identity = identify(int(entry.name)) if matches else None
        if identity is not None and identity.pid != os.getpid():
            found.append(identity)
    return found


def last_line(log: Path) -> str:
    """Return the last line of a log that is not empty, for error messages."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _reap(pid: int) -> None:
    child = _children.get(pid)
    if child is not None:
        child.poll()


def _identify_by_ps(pid: int) -> Identity | None:
    result = subprocess.run(["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, check=False)
    match = re.match(r"\s*(\S+)\s+(.+?)\s*$", result.stdout.decode("ascii", "replace"))
    return None if match is None or match[1].startswith("Z") else Identity(pid, match[2])
