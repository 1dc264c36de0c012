"""Watch the processes of a stack: one that ends is started again, later and later while it keeps ending.

Owns the back-off and what is known of each member. Starting and stopping are passed in; no signal handler is set here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from syncova_project import clock
from syncova_project.embedded import processes
from syncova_project.embedded.ownership import MemberRecord
from syncova_project.errors import SyncovaError

FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
# Seconds of life after which a member counts as well again.
_STEADY = 60.0


def delay_after(failures: int) -> float:
    """Return the seconds to wait after so many ends in a row (1 → 1 s, doubling to 30 s)."""
    return min(FIRST_DELAY * 2.0 ** min(failures - 1, 10), LONGEST_DELAY)


@dataclass(slots=True)
class Member:
    """One supervised process; `start` returns its identity and raises OSError or SyncovaError."""

    name: str
    user: str
    start: Callable[[], processes.Identity]
    say: Callable[[str], None]
    log: Path
    identity: processes.Identity | None = None
    since: str = ""
    restarts: int = 0
    last_exit: str = ""
    _failures: int = field(default=0)
    _started_at: float = field(default=0.0)
    _due_at: float = field(default=0.0)

    def begin(self) -> None:
        """Start for the first time; errors are the caller's."""
        self._run()

    def look(self) -> bool:
        """Notice an end, or start again when the back-off is over; return whether anything changed."""
        now = clock.monotonic()
        if self.identity is not None:
            if processes.is_alive(self.identity):
                return False
            self._note_end(self.identity, now)
            return True
        if now < self._due_at:
            return False
        try:
            self._run()
        except (OSError, SyncovaError) as error:
            self._wait(now, f"could not start: {error}")
        else:
            self.restarts += 1
        return True

    def record(self) -> MemberRecord:
        """Return what is known for `status`."""
        pid, started = (self.identity.pid, self.identity.started) if self.identity else (0, "")
        state = "running" if self.identity else "waiting"
        return MemberRecord(self.name, pid, started, state, self.user, self.since, self.restarts, self.last_exit)

    def _run(self) -> None:
        self.identity = self.start()
        self._started_at = clock.monotonic()
        self.since = clock.now().isoformat(timespec="seconds")

    def _note_end(self, identity: processes.Identity, now: float) -> None:
        how = processes.ending(identity)
        last = processes.last_line(self.log) if how.startswith("exit code") else ""
        if now - self._started_at > _STEADY:
            self._failures = 0
        self.identity = None
        self._wait(now, "ended" + (f" with {how}" if how else "") + (f" ({last})" if last else ""))

    def _wait(self, now: float, what: str) -> None:
        self._failures += 1
        delay = delay_after(self._failures)
        self._due_at = now + delay
        self.last_exit = f"{clock.now().isoformat(timespec='seconds')} {what}"
        self.say(f"{self.name} {what}; it is started again in {delay:.0f} s")
