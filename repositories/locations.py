"""Which locations may be registered: the form alone, without touching the medium.

Owns that they are absolute and stored in one form; what names a place at all is the engine's to say. The web process
reaches no repository, so whether one is there is found out by a worker of its group.
"""

import posixpath

from repositories.engine.errors import ConfigurationError
from repositories.engine.errors import LocationNotAvailableError as NoSuchStorageError
from repositories.engine.storage.locations import local_directory
from repositories.errors import LocationNotAvailableError
from syncova_project.errors import ValidationFailedError

MAX_LENGTH = 4096


def normalised_location(location: str) -> str:
    """Return the location in the one form that is stored and compared; raise if it cannot be one.

    Only absolute paths are offered; a place elsewhere is refused by name, so that nobody waits for a backup to it.
    """
    try:
        local_directory(location)
    except NoSuchStorageError as error:
        reason = f"{error.message[:1].upper()}{error.message[1:]}."
        raise LocationNotAvailableError(
            reason,
            hint="Use a directory that the workers of the group reach, as an absolute path.",
            details={"location": [reason]},
        ) from error
    except ConfigurationError as error:
        raise _not_a_path() from error
    if not location.startswith("/") or len(location) > MAX_LENGTH:
        raise _not_a_path()
    # Two leading slashes are one directory on every platform that is supported.
    return "/" + posixpath.normpath(location).lstrip("/")


def _not_a_path() -> ValidationFailedError:
    return ValidationFailedError(
        "The location of a repository is an absolute path.",
        hint="Write the path as the workers see it, for example /srv/backup/repository.",
        details={"location": ["Not an absolute path."]},
    )
