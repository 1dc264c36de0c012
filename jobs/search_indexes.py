"""Indexes for parts of words: names of jobs, codes and messages of runs (6.12; execution.md, section 6: pg_trgm).

Owns the extension, the indexes and the sentence that says why there are none. They are no numbered step: without them
every search answers the same, later. A server that lacks the extension is no reason to make no backups.
"""

from typing import Any, Final

from django.db import DatabaseError, transaction

EXTENSION: Final = "pg_trgm"
# Of a long history few runs have an error; what has no code has no message.
INDEXES: Final = {
    "jobs_by_part_of_name": ("jobs", "name", ""),
    "runs_by_part_of_code": ("runs", "error_code", "WHERE error_code <> ''"),
    "runs_by_part_of_message": ("runs", "error_message", "WHERE error_code <> ''"),
}
_SCHEMA_OF: Final = """
SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = %s
"""
# Not allowed, not installed on the server (two ways to say it).
_NOT_TO_BE_HAD: Final = frozenset({"42501", "0A000", "58P01"})


def make_search_indexes(connection: Any) -> str:
    """Make what is missing of extension and indexes; return why that cannot be, "" when all is there.

    Asks for the role that owns the tables. Safe to repeat; each statement holds the table only where it makes an index.
    """
    schema, refusal = _schema_of(connection), ""
    if schema is None:
        refusal = _make_extension(connection)
        schema = None if refusal else _schema_of(connection)
    if schema is None:
        return refusal
    with connection.cursor() as cursor:
        for name, (table, column, which) in INDEXES.items():
            # Of a database that is migrated back there may be no tables.
            cursor.execute("SELECT to_regclass(%s)", [table])
            if cursor.fetchone()[0] is None:
                continue
            # Django asks for a part of a word in this form, and the planner takes an index of this form alone.
            parts = f"ON {table} USING gin (upper({column}) {schema}.gin_trgm_ops) {which}"
            cursor.execute(f"CREATE INDEX IF NOT EXISTS {name} {parts}")
    return ""


def _schema_of(connection: Any) -> str | None:
    with connection.cursor() as cursor:
        cursor.execute(_SCHEMA_OF, [EXTENSION])
        row = cursor.fetchone()
    return row[0] if row else None


def _make_extension(connection: Any) -> str:
    try:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")
    except DatabaseError as error:
        if getattr(error.__cause__, "pgcode", None) not in _NOT_TO_BE_HAD:
            raise
        return str(error).strip().partition("\n")[0]
    return ""
