"""The sessions of a repository as people are told of them: who, since when, and whether they live.

Owns the words. The judgement is that of a prune (repositories/engine/prune/others.py), which alone waits for sessions.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from repositories.engine.clock import Clock
from repositories.engine.display import show_text
from repositories.engine.format.collection import SessionPurpose
from repositories.engine.holder import this_process
from repositories.engine.prune.others import EXPIRES_AFTER, Life, Others, OtherSession
from repositories.engine.repository import Repository

_LOOK_SECONDS = 1.0
_PURPOSES = {
    SessionPurpose.WRITE: "write",
    SessionPurpose.READ: "read",
    SessionPurpose.PRUNE: "prune",
    SessionPurpose.ROTATE: "rotation",
    SessionPurpose.KEYS: "keys",
}
_STANDS = f"it is dead once its lease stands still for {EXPIRES_AFTER / 60:.0f} minutes"


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session. `purpose` is `write` (a backup or a copy), `read` (a restore, check or copy), `prune`, `rotation` or
    `keys` (another change of keys), or `unknown`.

    `state` is `alive`, `dead` or `unknown`, for the reason in `why`. `started_ns` is by the holder's clock.
    """

    session_id: str
    purpose: str
    host: str
    pid: int | None
    started_ns: int | None
    fence: int | None
    state: str
    why: str


def sessions(
    repository: Repository,
    clock: Clock,
    watch_seconds: float = 0.0,
    sleep: Callable[[float], None] = time.sleep,
) -> list[SessionView]:
    """Return the sessions whose leases are there, oldest first.

    Watches their leases for up to `watch_seconds`, until it is known of each whether it lives. Raises the storage's
    errors.
    """
    others = Others(repository.store, clock)
    until = clock.monotonic() + watch_seconds
    renewed: set[bytes] = set()
    first: dict[bytes, bytes] = {}
    while True:
        found = others.sessions()
        renewed |= {each.session_id for each in found if first.setdefault(each.session_id, each.state) != each.state}
        lives = [(each, others.life(each)) for each in found]
        if clock.monotonic() >= until or all(life is not Life.UNKNOWN for _, life in lives):
            break
        sleep(_LOOK_SECONDS)
    views = [_view(each, life, renewed=each.session_id in renewed) for each, life in lives]
    return sorted(views, key=lambda view: (view.started_ns or 0, view.session_id))


def _view(session: OtherSession, life: Life, *, renewed: bool) -> SessionView:
    record = session.record
    why = _why(session, life, renewed=renewed)
    if record is None:
        return SessionView(session.session_id.hex(), "unknown", "", None, None, None, life.value, why)
    return SessionView(
        session.session_id.hex(),
        _PURPOSES.get(record.purpose, "unknown"),  # type: ignore[call-overload]  # a later version's is not one of ours
        show_text(record.host),
        record.pid,
        record.started_ns,
        record.fence,
        life.value,
        why,
    )


def _why(session: OtherSession, life: Life, *, renewed: bool) -> str:
    record, me = session.record, this_process()
    here = record is not None and (record.boot_id, record.pid_namespace) == (me.boot_id, me.pid_namespace)
    if life is Life.ALIVE:
        return "its lease was renewed just now" if renewed else "its process runs on this machine"
    if life is Life.DEAD:
        if record is None:
            return "its lease was never put whole"
        return "its process on this machine is gone" if here else "its lease stood still for so long"
    if record is None:
        return f"its lease cannot be read; {_STANDS}"
    if session.is_suspended():
        return f"its process on this machine is suspended: resume or end it; {_STANDS}"
    if here:
        return f"this machine does not tell whether its process runs; {_STANDS}"
    return f"it runs on another machine or in another container; {_STANDS}"
