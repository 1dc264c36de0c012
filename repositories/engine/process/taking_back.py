"""A writer that a key rotation has passed by takes back what it may, before it ends refused.

Owns opening the repository once more, with the newer keys: only their inventory tells what the writer's own session
put in time. Where the password has ended nothing is known, and all is left to a prune. What goes is
sessions/passed_by's to say.
"""

import contextlib
from collections.abc import Iterator

from repositories.engine.errors import CommitRefusedError, EngineError
from repositories.engine.process.opening import storage_of
from repositories.engine.process.requests import RepositoryAccess
from repositories.engine.repository import WriteSession, open_repository
from repositories.engine.rollback import is_overtaken
from repositories.engine.sessions.passed_by import take_back_leavings


@contextlib.contextmanager
def taking_back(access: RepositoryAccess, session: WriteSession) -> Iterator[None]:
    """Let `session` write; if it is refused since the keys were rotated, remove its leavings and pass that on.

    Whatever fails meanwhile is left to a prune: what the session was refused for is what is told.
    """
    try:
        yield
    except CommitRefusedError:
        with contextlib.suppress(EngineError):
            if is_overtaken(session.repository):
                newer = open_repository(storage_of(access), access.password.encode())
                take_back_leavings(newer.store, session.lease.session_id)
        raise
