"""The one row of `schema_version`: how far the schema is, and which migration is in hand.

Owns the table. It is made by our `migrate` and by no migration, since it has to tell of the first one, too. Every write
is a transaction of its own: what it says stays when the migration that it tells of is rolled back.
"""

import datetime as dt
import enum
import importlib.util
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.db.migrations.recorder import MigrationRecorder

from syncova_project.schema import versions

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS schema_version (
    id smallint PRIMARY KEY DEFAULT 1,
    n integer NOT NULL,
    state text NOT NULL,
    migration text NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT schema_version_has_one_row CHECK (id = 1),
    CONSTRAINT schema_version_is_not_negative CHECK (n >= 0),
    CONSTRAINT schema_version_state_is_known CHECK (state IN ('clean', 'running', 'failed')),
    CONSTRAINT schema_version_names_what_is_in_hand CHECK (state = 'clean' OR migration <> '')
)
"""
_WRITE: Final = """
INSERT INTO schema_version (id, n, state, migration, changed_at) VALUES (1, %s, %s, %s, clock_timestamp())
ON CONFLICT (id) DO UPDATE
SET n = excluded.n, state = excluded.state, migration = excluded.migration, changed_at = excluded.changed_at
"""


class SchemaState(enum.StrEnum):
    """What is known of the last migration; `running` with nobody at it means that it was cut off."""

    CLEAN = "clean"
    RUNNING = "running"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """The row; `migration` is `app.name` of the last one, or of the one in hand."""

    n: int
    state: SchemaState
    migration: str = ""
    changed_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything that a database tells of its schema; `version` is None where no `migrate` of ours has been yet.

    `untabled` are migrations that this program has although its table of versions lacks them: a test finds that, and
    no database is newer for it.
    """

    version: SchemaVersion | None
    applied: frozenset[str]
    untabled: frozenset[str] = frozenset()


def read_standing(connection: Any) -> Standing:
    """Return how a database stands; one without any table stands at nothing."""
    version, applied = _version(connection), frozenset(applied_steps(connection))
    named = applied | {version.migration if version is not None else ""} - {""}
    return Standing(version, applied, frozenset(step for step in named.difference(versions.STEPS) if _is_there(step)))


def _is_there(step: str) -> bool:
    app, _, name = step.partition(".")
    if app not in versions.apps():
        return False
    return importlib.util.find_spec(f"{apps.get_app_config(app).name}.migrations.{name}") is not None


def applied_steps(connection: Any) -> Collection[str]:
    """Return the applied migrations of our apps, as `app.name`."""
    applied, ours = MigrationRecorder(connection).applied_migrations(), versions.apps()
    return [f"{app}.{name}" for app, name in applied if app in ours]


def make_table(connection: Any) -> None:
    """Make the table where it is missing, and its row from what is applied: such a database is taken for clean."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('schema_version') IS NULL")
        if cursor.fetchone()[0]:
            cursor.execute(_TABLE)
    if _version(connection) is None:
        write(connection, SchemaVersion(versions.version_of(applied_steps(connection)), SchemaState.CLEAN))


def write(connection: Any, version: SchemaVersion) -> None:
    """Write the row by one statement; outside of a transaction it has committed when this returns."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, [version.n, version.state.value, version.migration])


def _version(connection: Any) -> SchemaVersion | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('schema_version') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return None
        cursor.execute("SELECT n, state, migration, changed_at FROM schema_version")
        row = cursor.fetchone()
    return None if row is None else SchemaVersion(row[0], SchemaState(row[1]), row[2], row[3])
