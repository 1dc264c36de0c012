"""Applies migrations step by step, each noted before and after, and each wholly or not at all (H10).

Owns the note and the transaction round a step. Django records some migrations after their transaction (those with
deferred SQL): a kill in between would leave tables that nothing tells of. Here the record is part of it.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from django.db import DatabaseError, InterfaceError, transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from syncova_project.schema import record, versions
from syncova_project.schema.record import SchemaState, SchemaVersion


class StepExecutor(MigrationExecutor):
    """Django's executor with the schema's version round each step."""

    def apply_migration(self, state: Any, migration: Migration, fake: bool = False, fake_initial: bool = False) -> Any:  # noqa: FBT001, FBT002 - Django's signature
        """Apply one migration."""
        with self._noted(migration):
            return super().apply_migration(state, migration, fake=fake, fake_initial=fake_initial)

    def unapply_migration(self, state: Any, migration: Migration, fake: bool = False) -> Any:  # noqa: FBT001, FBT002 - Django's signature
        """Take one migration back."""
        with self._noted(migration):
            return super().unapply_migration(state, migration, fake=fake)

    @contextlib.contextmanager
    def _noted(self, migration: Migration) -> Iterator[None]:
        if migration.app_label not in versions.apps():
            yield
            return
        step = f"{migration.app_label}.{migration.name}"
        self._write(SchemaState.RUNNING, step)
        try:
            with _whole(self.connection, migration):
                yield
        except BaseException:
            # A connection that is lost leaves "running", which is as true.
            with contextlib.suppress(DatabaseError, InterfaceError):
                self._write(SchemaState.FAILED, step)
            raise
        self._write(SchemaState.CLEAN, step)

    def _write(self, state: SchemaState, step: str) -> None:
        reached = versions.version_of(record.applied_steps(self.connection))
        record.write(self.connection, SchemaVersion(reached, state, step))


def _whole(connection: Any, migration: Migration) -> contextlib.AbstractContextManager[Any]:
    return transaction.atomic(using=connection.alias) if migration.atomic else contextlib.nullcontext()
