"""`manage migrate`: as the role that owns the tables, one at a time, each step noted (H9, H10); `status` and `force N`.

Owns the order: connection, lock, is the database newer, was something cut off, Django's own command. What a version is,
and what may follow an interruption, is syncova_project.schema's.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections

from syncova_project import clock, env
from syncova_project.connection_urls import database_settings
from syncova_project.errors import SyncovaError
from syncova_project.named_locks import NamedLock, release_session_lock, try_session_lock
from syncova_project.schema import record, rescue
from syncova_project.schema.errors import ForceRefusedError, MigrationBusyError
from syncova_project.schema.judgement import newer
from syncova_project.schema.steps import StepExecutor

STATUS, FORCE = "status", "force"
_PATIENCE_SECONDS: Final = 600.0
_LOOK_SECONDS: Final = 0.5
_EXECUTOR: Final = "MigrationExecutor"


class Command(migrate.Command):
    """Django's command, as the owner of the tables; `status` only tells, `force N` only claims."""

    help = (
        "Bring the tables up to date. `migrate status` says how they stand. `migrate force N` claims a version after a "
        "migration that was cut off, and changes no table."
    )

    def handle(self, *args: Any, **options: Any) -> str | None:
        """Do what the first word says, on the connection of the owner."""
        if options["app_label"] == STATUS:
            # Reading needs no right to change tables; applied ones are marked [X].
            self._tell(options["database"])
            call_command("showmigrations", database=options["database"], stdout=self.stdout, stderr=self.stderr)
            return None
        try:
            with _owner(options["database"]) as connection:
                return self._change(connection, args, options)
        except SyncovaError as error:
            raise CommandError(f"{error.code}: {error.message} {error.hint}".rstrip()) from error

    def _change(self, connection: Any, args: Any, options: dict[str, Any]) -> str | None:
        if options["plan"] or options["check_unapplied"]:
            _require_not_newer(connection)
            return super().handle(*args, **options)
        forced = options["app_label"] == FORCE
        with _alone(connection, self.stdout, seconds=0.0 if forced else _PATIENCE_SECONDS):
            if forced:
                self._force(connection, options)
                return None
            _require_not_newer(connection)
            record.make_table(connection)
            rescue.require_safe_to_go_on(connection, record.read_standing(connection))
            with _step_by_step():
                return super().handle(*args, **options)

    def _force(self, connection: Any, options: dict[str, Any]) -> None:
        wanted = options["migration_name"] or ""
        if not wanted.isdecimal():
            raise ForceRefusedError(f"{wanted!r} is no schema version.", hint="./syncova manage migrate force N")
        _require_not_newer(connection)
        self.stdout.write("before:")
        self._tell(options["database"])
        # From this command's own environment alone: in a settings file it would hold for ever.
        rescue.force(connection, int(wanted), confirmed=env.foreign(rescue.CONFIRMED_BY) == "yes")
        self.stdout.write("after:")
        self._tell(options["database"])

    def _tell(self, database: str) -> None:
        for line in rescue.lines(connections[database]):
            self.stdout.write(line)


def _require_not_newer(connection: Any) -> None:
    problem = newer(record.read_standing(connection))
    if problem is not None:
        raise problem


@contextlib.contextmanager
def _owner(database: str) -> Iterator[Any]:
    """Switch the connection to the owner for the time of the migration, then back."""
    connection, url = connections[database], settings.SYNCOVA_MIGRATION_DATABASE_URL
    if url is None or database != DEFAULT_DB_ALIAS:
        yield connection
        return
    before = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(database_settings(url))
    try:
        yield connection
    finally:
        connection.close()
        connection.settings_dict.update(before)


@contextlib.contextmanager
def _alone(connection: Any, stdout: Any, *, seconds: float) -> Iterator[None]:
    """Wait for another migration of this database to end. Asked again and again: a waiting statement would block it."""
    end, told = clock.monotonic() + seconds, False
    while not try_session_lock(connection, NamedLock.SCHEMA):
        if clock.monotonic() >= end:
            raise MigrationBusyError(
                "Another migrate works on this database.", hint="See who with: ./syncova manage migrate status"
            )
        if not told:
            stdout.write("Waiting for another migrate on this database")
        told = True
        clock.sleep(_LOOK_SECONDS)
    try:
        yield
    finally:
        if connection.connection is not None and not connection.needs_rollback:
            release_session_lock(connection, NamedLock.SCHEMA)


@contextlib.contextmanager
def _step_by_step() -> Iterator[None]:
    """Let Django's command use our executor: it has no other place to name one."""
    original = vars(migrate)[_EXECUTOR]
    setattr(migrate, _EXECUTOR, StepExecutor)
    try:
        yield
    finally:
        setattr(migrate, _EXECUTOR, original)
