"""The engine's typed errors: stable codes, failure classes, exit codes (engine.md, section 7; C5).

Source errors and repository errors are different families on purpose: a full repository must never be
mistaken for an unreadable file. Nothing here is caught by message text.
"""

from typing import ClassVar


class EngineError(Exception):
    """Base of all engine errors.

    `failure_class` is one of the closed set of execution.md, section 3; `exit_code` is the command line's.
    Messages are shown to people and must never hold secrets; `hint` says the next step.
    """

    code: ClassVar[str] = "ENGINE_ERROR"
    failure_class: ClassVar[str] = "unknown"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigurationError(EngineError):
    """What was asked for makes no sense: a bad option, location or pattern."""

    code = "CONFIGURATION"
    failure_class = "configuration"
    exit_code = 2


class LocationNotAvailableError(ConfigurationError):
    """The location has a form that no storage of this version can open."""

    code = "LOCATION_NOT_AVAILABLE"


class ExtraMissingError(ConfigurationError):
    """The location needs an extra that is not installed; the message names the command that installs it."""

    code = "EXTRA_MISSING"


class SourceError(EngineError):
    """The source as a whole cannot be backed up (missing root, not a directory or file, vanished)."""

    code = "SOURCE_UNAVAILABLE"
    failure_class = "source"


class SourceMissingError(SourceError):
    """The root of the source does not exist or cannot be opened."""

    code = "SOURCE_MISSING"


class SourceVanishedError(SourceError):
    """The root of the source vanished, went stale or was replaced while it was read: nothing of it is committed."""

    code = "SOURCE_VANISHED"


class SourceEmptyError(SourceError):
    """The source held something in its last backup, or when it was listed, and holds nothing now: is it mounted?"""

    code = "SOURCE_EMPTY"


class SourceUnmountedError(SourceError):
    """The source lies on another file system than in its last backup: the one that held it is not mounted."""

    code = "SOURCE_UNMOUNTED"


class SourceUnreadableError(SourceError):
    """A part of a source that is of use only as a whole (a block device) cannot be read: nothing of it is committed."""

    code = "SOURCE_UNREADABLE"


class CommandFailedError(SourceError):
    """The command whose output is backed up failed, or was never started: nothing of its output is committed."""

    code = "COMMAND_FAILED"


class RepositoryError(EngineError):
    """The repository's storage failed: nothing is committed after one of these."""

    code = "REPOSITORY_ERROR"
    failure_class = "repository"


class RepositoryNotFoundError(RepositoryError):
    """There is no repository at the location."""

    code = "REPOSITORY_NOT_FOUND"
    failure_class = "configuration"
    exit_code = 10


class RepositoryExistsError(RepositoryError):
    """The location already holds a repository (or something else that must not be overwritten)."""

    code = "REPOSITORY_EXISTS"
    failure_class = "configuration"


class RepositoryLockedError(RepositoryError):
    """Another live session excludes this operation."""

    code = "REPOSITORY_LOCKED"
    exit_code = 11


class RepositoryRolledBackError(RepositoryError):
    """The repository shows an earlier state than this machine has seen: read only until that is confirmed."""

    code = "REPOSITORY_ROLLED_BACK"
    failure_class = "security"


class StorageUnreachableError(RepositoryError):
    """The medium did not answer, or said that it is overloaded: what was asked may work later."""

    code = "REPOSITORY_UNREACHABLE"
    failure_class = "network"


class StorageRefusedError(RepositoryError):
    """The medium refuses these credentials, or what they may do: trying again does not help."""

    code = "REPOSITORY_REFUSED"
    failure_class = "authentication"


class StoragePlaceMissingError(RepositoryError):
    """The bucket, share or directory that is to hold the repository does not exist."""

    code = "REPOSITORY_PLACE_MISSING"
    failure_class = "configuration"


class StorageFullError(RepositoryError):
    """The medium has no room left."""

    code = "REPOSITORY_FULL"


class StorageReadOnlyError(RepositoryError):
    """The medium refuses writes: mounted read-only, or no permission."""

    code = "REPOSITORY_READ_ONLY"


class ObjectExistsError(RepositoryError):
    """An object of that name is on the medium already; objects are put once."""

    code = "OBJECT_EXISTS"


class CommitRefusedError(RepositoryError):
    """A prune or a key rotation passed by while the backup ran: nothing is committed, a new run will do."""

    code = "COMMIT_REFUSED"


class KeysChangedError(RepositoryError):
    """Another process changed the keys meanwhile, or broke off while it did: nothing was changed by this one."""

    code = "KEYS_CHANGED"


class ObjectMissingError(RepositoryError):
    """An object that the repository names is not on the medium."""

    code = "OBJECT_MISSING"
    failure_class = "integrity"
    exit_code = 13


class WrongKeyError(EngineError):
    """No key slot opens with the given password or recovery code."""

    code = "WRONG_PASSWORD"
    failure_class = "authentication"
    exit_code = 12


class IntegrityError(EngineError):
    """Stored bytes fail authentication, decoding or their hash."""

    code = "INTEGRITY"
    failure_class = "integrity"
    exit_code = 13


class KeyringLostError(IntegrityError):
    """The newest keyring is gone while its key slots are there: an earlier generation must not be opened instead."""

    code = "KEYRING_LOST"


class InventoryLostError(IntegrityError):
    """No copy of the newest inventory can be read: what counts of all that is older than the rotation is not known."""

    code = "INVENTORY_LOST"


class BackupUnreadableError(IntegrityError):
    """A backup that counts cannot be read whole: what it uses is not known, so nothing may be deleted."""

    code = "BACKUP_UNREADABLE"


class RetiredKeyError(IntegrityError):
    """An object was sealed with a key from before a rotation and no inventory names it: it does not count."""

    code = "RETIRED_KEY"


class UnsupportedFormatError(EngineError):
    """The repository uses a format feature that this version does not know."""

    code = "UNSUPPORTED_FORMAT"
    failure_class = "configuration"


class SecurityError(EngineError):
    """Something hostile: a manifest that would escape the target, a swapped repository where that is fatal."""

    code = "SECURITY"
    failure_class = "security"


class BackupNotFoundError(EngineError):
    """No backup matches the given id."""

    code = "BACKUP_NOT_FOUND"
    failure_class = "configuration"


class BackupDeletedError(BackupNotFoundError):
    """The backup was deleted; `undelete` brings it back until the next prune."""

    code = "BACKUP_DELETED"


class BackupHeldError(EngineError):
    """A hold keeps the backup from being deleted."""

    code = "BACKUP_HELD"
    failure_class = "configuration"


class LastBackupError(EngineError):
    """What was asked for would take the last good backup of a source, or all that is left of one."""

    code = "LAST_BACKUP"
    failure_class = "configuration"


class BackupExistsError(EngineError):
    """A backup of this id is in the repository already: two backups of one id could not be told apart."""

    code = "BACKUP_EXISTS"
    failure_class = "configuration"


class RestoreTargetError(EngineError):
    """The restore target cannot be used or filled."""

    code = "RESTORE_TARGET"
    failure_class = "configuration"


class PruneOvertakenError(EngineError):
    """Another prune or a key rotation passed by while this prune worked: it deletes nothing more."""

    code = "PRUNE_OVERTAKEN"
    failure_class = "transient"


class LeaseLostError(EngineError):
    """The run's fence is no longer valid: stop, commit nothing."""

    code = "LEASE_LOST"
    failure_class = "transient"


class OperationCancelledError(EngineError):
    """The caller asked to stop; nothing half is visible."""

    code = "CANCELLED"
    failure_class = "transient"
    exit_code = 130
