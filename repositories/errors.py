"""The errors of the repositories app: what a caller is told when a rule here refuses."""

from typing import ClassVar

from syncova_project.errors import ConflictError, NotFoundError, SyncovaError, ValidationFailedError


class RepositoryUnknownError(NotFoundError):
    """No registered repository has the given id."""

    code: ClassVar[str] = "REPOSITORY_UNKNOWN"


class RepositoryNameTakenError(ConflictError):
    """Another repository has the name (names differ by more than case)."""

    code: ClassVar[str] = "REPOSITORY_NAME_TAKEN"


class RepositoryRegisteredError(ConflictError):
    """The same location is already registered for the same worker group."""

    code: ClassVar[str] = "REPOSITORY_ALREADY_REGISTERED"


class RepositoryNotLookedAtError(ConflictError):
    """What lies at the repository's location now is not known, so it cannot be adopted."""

    code: ClassVar[str] = "REPOSITORY_NOT_LOOKED_AT"


class RepositoryReindexWantedError(ConflictError):
    """Only indexing the repository again ends the one freeze that holds it: the database knows less than it does."""

    code: ClassVar[str] = "REPOSITORY_REINDEX_WANTED"


class EncryptionRequiredError(SyncovaError):
    """A repository without key material is refused when it is set up (A5)."""

    code: ClassVar[str] = "ENCRYPTION_REQUIRED"
    status: ClassVar[int] = 400


class LocationNotAvailableError(ValidationFailedError):
    """The location has a form that no storage of this version can open."""

    code: ClassVar[str] = "LOCATION_NOT_AVAILABLE"


class BackupUnknownError(NotFoundError):
    """The catalogue has no backup with the given id."""

    code: ClassVar[str] = "BACKUP_NOT_FOUND"


class PathNotInBackupError(NotFoundError):
    """The backup holds nothing at the given path."""

    code: ClassVar[str] = "PATH_NOT_IN_BACKUP"


class LookupUnknownError(NotFoundError):
    """There is no such lookup, or its answer is older than ten minutes."""

    code: ClassVar[str] = "LOOKUP_UNKNOWN"


class LookupFailedError(ConflictError):
    """The worker could not look into the backup; `details.code` is the engine's own code."""

    code: ClassVar[str] = "LOOKUP_FAILED"


class TooManyLookupsError(SyncovaError):
    """So many lookups wait for the workers of a group that no further one is taken; may be repeated."""

    code: ClassVar[str] = "TOO_MANY_LOOKUPS"
    status: ClassVar[int] = 429
    wait: ClassVar[float] = 5.0
