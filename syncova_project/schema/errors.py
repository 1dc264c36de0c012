"""The errors of the schema guard: why a program may not work on this database, and what to do about it."""

from typing import ClassVar

from syncova_project.errors import SyncovaError


class SchemaNewerError(SyncovaError):
    """The database was migrated by a newer program than this one (H9)."""

    code: ClassVar[str] = "SCHEMA_NEWER"


class SchemaOutdatedError(SyncovaError):
    """The database lacks migrations that this program needs."""

    code: ClassVar[str] = "SCHEMA_OUTDATED"


class SchemaInterruptedError(SyncovaError):
    """A migration is under way, failed or was cut off (H10)."""

    code: ClassVar[str] = "SCHEMA_INTERRUPTED"


class MigrationBusyError(SyncovaError):
    """Another `migrate` works on this database and did not end in time."""

    code: ClassVar[str] = "MIGRATION_BUSY"


class ForceRefusedError(SyncovaError):
    """A schema version may not be claimed: the database is clean, in use, or nobody has confirmed it (H10)."""

    code: ClassVar[str] = "MIGRATION_FORCE_REFUSED"
