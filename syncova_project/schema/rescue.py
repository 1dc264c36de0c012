"""The way out of a migration that was cut off (H10): say how the schema stands, go on where that is safe, or force.

Owns what may follow an interruption. Forcing changes no table: it only claims that the schema is what a version says.
"""

from collections.abc import Iterator
from typing import Any, Final

from django.db import transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from syncova_project.named_locks import NamedLock, holders
from syncova_project.schema import record, versions
from syncova_project.schema.errors import ForceRefusedError, SchemaInterruptedError
from syncova_project.schema.judgement import STATUS
from syncova_project.schema.record import SchemaState, SchemaVersion, Standing

CONFIRMED_BY: Final = "SYNCOVA_MIGRATE_CONFIRM_FORCE"


def lines(connection: Any) -> Iterator[str]:
    """Yield how the schema stands, for people."""
    standing = record.read_standing(connection)
    version, reached = standing.version, versions.version_of(standing.applied)
    if version is None:
        yield f"schema version {reached} of {len(versions.STEPS)}, never noted"
    else:
        since = f" since {version.changed_at:%Y-%m-%d %H:%M:%S} UTC" if version.changed_at else ""
        yield f"schema version {version.n} of {len(versions.STEPS)}, {_word(version, connection)}{since}"
    yield "  " + ", ".join(f"{app} {name}" for app, name in sorted(versions.leaves_of(reached).items()))
    for holder in holders(connection):
        yield f"  lock {holder.lock.name.lower()}: server process {holder.process_id}"


def require_safe_to_go_on(connection: Any, standing: Standing) -> None:
    """Return if `migrate` may go on: nothing was cut off, or a step whose transaction left all of it or nothing.

    Raises SchemaInterruptedError for a step that has no transaction round it: it may be half done.
    """
    version = standing.version
    if version is None or version.state is SchemaState.CLEAN or version.migration in standing.applied:
        return
    app, _, name = version.migration.partition(".")
    migration = MigrationLoader(connection).disk_migrations.get((app, name))
    if migration is None or not migration.atomic:
        raise SchemaInterruptedError(
            f"The migration {version.migration} was cut off and may be half done: no transaction holds it together.",
            hint="Bring the tables by hand to what a version says, then claim it: "
            f"{CONFIRMED_BY}=yes ./syncova manage migrate force N. {STATUS}",
        )


def force(connection: Any, version: int, *, confirmed: bool) -> None:
    """Claim that the schema is at `version`: its row, and the rows of `django_migrations`, in one transaction.

    The caller holds the lock of the schema. Raises ForceRefusedError for a clean database, an unknown version, and
    without the confirmation.
    """
    standing = record.read_standing(connection)
    _require_forcible(standing, version, confirmed=confirmed)
    wanted, recorder = set(versions.STEPS[:version]), MigrationRecorder(connection)
    with transaction.atomic(using=connection.alias):
        for step in sorted(standing.applied - wanted):
            recorder.record_unapplied(*step.split(".", 1))
        for step in versions.STEPS[:version]:
            if step not in standing.applied:
                recorder.record_applied(*step.split(".", 1))
        record.write(connection, SchemaVersion(version, SchemaState.CLEAN, versions.STEPS[version - 1]))


def _require_forcible(standing: Standing, version: int, *, confirmed: bool) -> None:
    if standing.version is None or standing.version.state is SchemaState.CLEAN:
        raise ForceRefusedError("The schema is clean: there is nothing to force.", hint=STATUS)
    if not 1 <= version <= len(versions.STEPS):
        raise ForceRefusedError(f"There is no schema version {version}: this program knows 1 to {len(versions.STEPS)}.")
    if not confirmed:
        raise ForceRefusedError(
            "Forcing changes no table, it only claims a version: nobody has confirmed that.",
            hint=f"Set {CONFIRMED_BY}=yes for this one command, once the tables are what version {version} says.",
        )


def _word(version: SchemaVersion, connection: Any) -> str:
    if version.state is SchemaState.CLEAN:
        return "clean"
    busy = any(holder.lock is NamedLock.SCHEMA for holder in holders(connection))
    if version.state is SchemaState.RUNNING:
        return f"{version.migration} is being applied" if busy else f"INTERRUPTED at {version.migration}"
    return f"FAILED at {version.migration}"
