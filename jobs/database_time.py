"""The time that hosts must agree on: the database's, read once per operation and passed on as `now=`.

Owns the one query. Leases, passes and verdicts never compare the clocks of two machines (execution.md, section 4).
"""

import datetime as dt

from django.db import connection


def database_now() -> dt.datetime:
    """Return the database's wall time, aware, UTC; it moves on within a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    moment: dt.datetime = row[0]
    return moment.astimezone(dt.UTC)
