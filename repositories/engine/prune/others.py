"""The sessions of others: who they are, whether they live, and waiting until they have ended.

Owns the judgement (engine.md, section 5): dead at once only where this machine can see it, else when a counter stood
still for five minutes on our own monotonic clock, as does that of a process of this machine that is suspended: when it
is resumed its fence makes void what it does. Times of two machines are never compared.
"""

import contextlib
import enum
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import blake3

from repositories.engine.clock import Clock
from repositories.engine.display import show_text
from repositories.engine.errors import (
    IntegrityError,
    ObjectMissingError,
    RepositoryError,
    RepositoryLockedError,
    UnsupportedFormatError,
)
from repositories.engine.format.collection import LeaseRecord, SessionPurpose
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import decode
from repositories.engine.holder import Holder, is_surely_dead, is_suspended, process_start, this_process
from repositories.engine.objects.pairs import get_bounded
from repositories.engine.objects.store import ObjectStore
from repositories.engine.objects.torn import was_torn
from repositories.engine.prune.report import Beat
from repositories.engine.sessions.half_done import complete_pairs
from repositories.engine.sessions.leases import Lease

EXPIRES_AFTER: Final = 300.0
_LOOK_SECONDS: Final = 0.5
_TELL_SECONDS: Final = 60.0
_TRIES: Final = 4
_PURPOSES: Final = {SessionPurpose.WRITE: "backup", SessionPurpose.READ: "reader", SessionPurpose.PRUNE: "prune"}

Sleep = Callable[[float], None]
Tell = Callable[[str], None]


class Life(enum.Enum):
    """What can be said of a session now."""

    DEAD = "dead"
    ALIVE = "alive"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class OtherSession:
    """A lease as it was read. `record` is None for one that cannot be read; `state` changes while it is renewed."""

    session_id: bytes
    record: LeaseRecord | None
    state: bytes

    @property
    def purpose(self) -> int:
        """Why it exists; 0 where that cannot be read."""
        return 0 if self.record is None else self.record.purpose

    @property
    def fence(self) -> int:
        """The fence that it last told."""
        return 0 if self.record is None else self.record.fence

    def shown(self) -> str:
        """Return who it is, for people."""
        if self.record is None:
            return f"an unreadable session {self.session_id.hex()[:8]}"
        what = next((word for purpose, word in _PURPOSES.items() if purpose == self.record.purpose), "session")
        who = f"{what} of process {self.record.pid} on {show_text(self.record.host) or 'an unknown host'}"
        return f"{who} (suspended: resume or end it)" if self.is_suspended() else who

    def is_suspended(self) -> bool:
        """Tell whether its process is one of this machine that is stopped."""
        return self.record is not None and _is_here(self.record) and is_suspended(self.record.pid)


class Others:
    """Looks at the leases of others, and remembers how long each has stood still."""

    def __init__(self, store: ObjectStore, clock: Clock, sleep: Sleep = time.sleep) -> None:
        self._store = store
        self._clock = clock
        self._sleep = sleep
        self._me = this_process()
        self._seen: dict[bytes, tuple[bytes, float]] = {}
        self.own: frozenset[bytes] = frozenset()

    def sessions(self) -> list[OtherSession]:
        """Return the sessions whose leases are there, our own aside."""
        found: list[OtherSession] = []
        for session_id in self._store.ids(ObjectKind.SESSION):
            session = None if session_id in self.own else self._read(session_id)
            if session is not None:
                found.append(session)
        return found

    def life(self, session: OtherSession) -> Life:
        """Say whether a session lives. A lease that was never put whole is that of a dead one."""
        state, since = self._seen.get(session.session_id, (b"", 0.0))
        now = self._clock.monotonic()
        if state != session.state:
            self._seen[session.session_id] = (session.state, now)
            known = bool(state)
            since = now
            if known:
                return Life.ALIVE
        if session.record is None and was_torn(self._store.storage, ObjectKind.SESSION, session.session_id):
            return Life.DEAD
        if session.record is not None and (judged := self._judge(session.record)) is not Life.UNKNOWN:
            return judged
        return Life.DEAD if now - since >= EXPIRES_AFTER else Life.UNKNOWN

    def living(self, purposes: Sequence[int]) -> list[OtherSession]:
        """Return the sessions of these purposes that are not known to be dead; unreadable ones count as any."""
        return [
            each
            for each in self.sessions()
            if (each.purpose in purposes or each.record is None) and self.life(each) is not Life.DEAD
        ]

    def wait_for(self, fence: int, beat: Beat, tell: Tell, until: float | None) -> list[OtherSession]:
        """Wait for the sessions that are there now until each has ended, died or taken this fence.

        Sessions that begin later have put their lease after the mark and seen it. Returns those that are left when the
        monotonic clock reaches `until`.
        """
        first = {each.session_id for each in self.sessions()}
        told, again = "", 0.0
        while True:
            left = [each for each in self.sessions() if each.session_id in first and self._holds_up(each, fence)]
            if not left or (until is not None and self._clock.monotonic() >= until):
                return left
            line = "waiting for " + ", ".join(sorted({each.shown() for each in left}))
            if line != told or self._clock.monotonic() >= again:
                told, again = line, self._clock.monotonic() + _TELL_SECONDS
                tell(line)
            beat()
            self._sleep(_LOOK_SECONDS)

    def _holds_up(self, session: OtherSession, fence: int) -> bool:
        return session.fence < fence and session.purpose != SessionPurpose.PRUNE and self.life(session) is not Life.DEAD

    def _judge(self, record: LeaseRecord) -> Life:
        holder = Holder(record.boot_id, record.pid_namespace, record.pid, record.process_start, record.host)
        if is_surely_dead(holder, self._me):
            return Life.DEAD
        return Life.ALIVE if _is_here(record) and not is_suspended(holder.pid) else Life.UNKNOWN

    def _read(self, session_id: bytes) -> OtherSession | None:
        name = object_name(ObjectKind.SESSION, session_id)
        try:
            data = get_bounded(self._store.storage, ObjectKind.SESSION, name)
        except ObjectMissingError:
            return None
        state = blake3.blake3(data).digest()
        try:
            record = decode(self._store.open(ObjectKind.SESSION, session_id, data), LeaseRecord)
        except (IntegrityError, UnsupportedFormatError):
            return OtherSession(session_id, None, state)
        return OtherSession(session_id, record, state)


def _is_here(record: LeaseRecord) -> bool:
    """Tell whether its process is there on this machine, as far as this one can see."""
    me = this_process()
    same = (record.boot_id, record.pid_namespace) == (me.boot_id, me.pid_namespace)
    visible = bool(same and me.boot_id and me.pid_namespace and record.process_start)
    return visible and process_start(record.pid) == record.process_start


def only_prune(others: Others, begin: Callable[[], Lease], beat: Beat, tell: Tell, sleep: Sleep = time.sleep) -> Lease:
    """Put our lease so that no other prune lives beside it; return it.

    Who sees another live prune withdraws and tries again. Raises RepositoryLockedError when there is one each time.
    """
    for _ in range(_TRIES):
        lease = begin()
        others.own = frozenset({lease.session_id})
        try:
            other = _other_prune(others, beat, tell, sleep)
        except BaseException:
            lease.end()
            raise
        if other is None:
            return lease
        lease.end()
        sleep(0.05 + secrets.randbelow(500) / 1000)
    raise RepositoryLockedError(
        f"another prune works on this repository: {other.shown() if other else ''}",
        hint="let it end; one that was killed is known as dead after five minutes",
    )


def _other_prune(others: Others, beat: Beat, tell: Tell, sleep: Sleep) -> OtherSession | None:
    """Return a prune that lives, or None once all others are known to be dead."""
    told = False
    while True:
        lives = {each: others.life(each) for each in others.sessions() if each.purpose == SessionPurpose.PRUNE}
        unknown = [each for each, life in lives.items() if life is Life.UNKNOWN]
        alive = [each for each, life in lives.items() if life is Life.ALIVE]
        if alive or not unknown:
            return alive[0] if alive else None
        if not told:
            told = True
            tell(f"finding out whether the {unknown[0].shown()} lives: for 5 minutes, unless its lease is renewed")
        beat()
        sleep(_LOOK_SECONDS)


def remove_dead(store: ObjectStore, others: Others) -> int:
    """Remove the leases of sessions that are known to be dead; return how many. A medium that refuses is left alone."""
    dead = [each for each in others.sessions() if others.life(each) is Life.DEAD]
    with contextlib.suppress(RepositoryError):
        # Their leases explain why an object has one copy alone: with them goes the reason.
        complete_pairs(store, {each.session_id: each.purpose for each in dead})
        for each in dead:
            store.remove(ObjectKind.SESSION, each.session_id)
    return len(dead)
