"""The named locks of the database (H9): advisory locks that stand for no row, each with a number of its own.

Owns the numbers, which must stay the same for ever, and who holds one. What a lock protects is told by its user.
"""

import datetime as dt
import enum
from dataclasses import dataclass
from typing import Any


class NamedLock(enum.IntEnum):
    """Numbers that nobody else takes in this database."""

    ADMISSION = 7_365_001
    # Also in the trigger of jobs/0010, which may not change.
    DEPENDENCIES = 7_365_002
    WINDOWS = 7_365_003
    SCHEMA = 7_365_004
    FENCES = 7_365_005
    AUDIT_SEALS = 7_365_006


@dataclass(frozen=True, slots=True)
class Holder:
    """A session that holds a named lock, as the server knows it."""

    lock: NamedLock
    process_id: int
    application: str
    since: dt.datetime | None


# A lock by one bigint: its upper half is classid, its lower one objid; objsubid 1 tells it from two integers.
_HOLDERS = """
SELECT held.objid::bigint, held.pid, coalesce(activity.application_name, ''),
       coalesce(activity.xact_start, activity.state_change)
FROM pg_locks AS held LEFT JOIN pg_stat_activity AS activity USING (pid)
WHERE held.locktype = 'advisory' AND held.granted AND held.classid = 0 AND held.objsubid = 1
  AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND held.objid::bigint = ANY (%s) AND held.pid <> pg_backend_pid()
ORDER BY held.objid, held.pid
"""


def holders(connection: Any) -> list[Holder]:
    """Return which other sessions hold which named lock of this database now."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLDERS, [[int(lock) for lock in NamedLock]])
        return [Holder(NamedLock(number), pid, name, since) for number, pid, name, since in cursor.fetchall()]


def try_session_lock(connection: Any, lock: NamedLock) -> bool:
    """Take the lock for this session if it is free; it ends with the session or by `release_session_lock`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [int(lock)])
        return bool(cursor.fetchone()[0])


def release_session_lock(connection: Any, lock: NamedLock) -> None:
    """Give up what `try_session_lock` took; harmless where the session has ended since."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s)", [int(lock)])
