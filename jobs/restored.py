"""Whether this database was restored from a dump: its rows then know less than its repositories, and say so themselves.

Owns the row `database_home`. The first pass in another home asks every repository to be indexed again, before anything
is claimed or ended. A restore of the cluster's own files keeps the home: the fence in the repository tells of that.
"""

import datetime as dt
import logging
from typing import Final

from django.db import connection, transaction

from repositories.control_plane import reindex_all

logger = logging.getLogger(__name__)

REASON: Final = (
    "This database was restored from a dump: what newer runs did stands in the repository alone. "
    "Nothing is deleted or planned until: ./syncova manage reindex_repository"
)
_HERE: Final = "SELECT system_identifier, 'database_home'::regclass::oid::bigint FROM pg_control_system()"
# Where a server does not let everybody ask for the cluster, the table alone has to tell.
_TABLE_ALONE: Final = "SELECT 0::bigint, 'database_home'::regclass::oid::bigint"
_MAY_ASK: Final = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"
_KNOWN: Final = "SELECT system_identifier, table_oid FROM database_home WHERE id = 1"


def notice_restore(*, now: dt.datetime) -> bool:
    """Ask for the indexing of all repositories if the rows have come here from elsewhere; True: they have."""
    here, known = _here(), _row(_KNOWN)
    if known == here:
        return False
    with transaction.atomic():
        # Asked again under a lock of the whole: of two passes that see it, one tells.
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE database_home IN SHARE ROW EXCLUSIVE MODE")
        known = _row(_KNOWN)
        if known == here:
            return False
        if known is not None:
            count = reindex_all(reason=REASON, now=now)
            logger.error("This database was restored from a dump; %d repositories wait to be indexed again", count)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO database_home (id, system_identifier, table_oid, since) VALUES (1, %s, %s, %s)"
                " ON CONFLICT (id) DO UPDATE SET system_identifier = excluded.system_identifier,"
                " table_oid = excluded.table_oid, since = excluded.since",
                [*here, now],
            )
    return known is not None


def _here() -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(_MAY_ASK)
        cursor.execute(_HERE if cursor.fetchone()[0] else _TABLE_ALONE)
        system_identifier, table_oid = cursor.fetchone()
    return system_identifier, table_oid


def _row(query: str) -> tuple[int, int] | None:
    with connection.cursor() as cursor:
        cursor.execute(query)
        row = cursor.fetchone()
    return None if row is None else (row[0], row[1])
