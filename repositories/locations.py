"""Which locations may be registered: the form alone, without touching the medium.

Owns that they mean the same on every machine of a group and are stored in one form; what names a place at all is the
engine's to say. The web process reaches no repository, so whether one is there is found out by a worker of its group.
"""

import posixpath
from typing import Any

from repositories.engine.errors import ConfigurationError
from repositories.engine.errors import LocationNotAvailableError as NoSuchStorageError
from repositories.engine.storage.locations import parse_location
from repositories.engine.storage.remote_locations import is_remote
from repositories.errors import LocationNotAvailableError
from syncova_project.errors import ValidationFailedError

MAX_LENGTH = 4096
_HINT = (
    "Use an absolute path that the workers of the group reach, or s3://BUCKET/PREFIX, sftp://USER@HOST/PATH or "
    "webdavs://HOST/PATH, with the credentials on the workers' machines."
)


def normalised_location(location: str) -> str:
    """Return the location in the one form that is stored and compared; raise if it cannot be one.

    Offered are absolute paths and the remote media of docs/storage.md. What is elsewhere, or holds a password, is
    refused without being quoted, so that nobody waits for a backup to it. Raises LocationNotAvailableError,
    ValidationFailedError.
    """
    if len(location) > MAX_LENGTH:
        raise _not_a_path()
    try:
        place = parse_location(location)
    except NoSuchStorageError as error:
        raise LocationNotAvailableError(**_told(error, _HINT)) from None
    except ConfigurationError as error:
        # The message of a remote location names what is wrong with it, and quotes nothing of it.
        raise (ValidationFailedError(**_told(error, error.hint)) if is_remote(location) else _not_a_path()) from None
    if not isinstance(place, str):
        return place.text
    if not location.startswith("/"):
        raise _not_a_path()
    # Two leading slashes are one directory on every platform that is supported.
    return "/" + posixpath.normpath(location).lstrip("/")


def _told(error: ConfigurationError, hint: str) -> dict[str, Any]:
    reason = _sentence(error.message)
    return {"message": reason, "hint": _sentence(hint), "details": {"location": [reason]}}


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."


def _not_a_path() -> ValidationFailedError:
    return ValidationFailedError(
        "The location of a repository is an absolute path, or begins with s3://, sftp:// or webdavs://.",
        hint="Write the path as the workers see it, for example /srv/backup/repository.",
        details={"location": ["Not an absolute path."]},
    )
