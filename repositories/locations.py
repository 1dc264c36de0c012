"""Which locations may be registered: the form alone, without touching the medium.

The web process reaches no repository, so whether one is there is found out by a worker of its group.
"""

import posixpath

from repositories.errors import LocationNotAvailableError
from syncova_project.errors import ValidationFailedError

MAX_LENGTH = 4096


def normalised_location(location: str) -> str:
    """Return the location in the one form that is stored and compared; raise if it cannot be one.

    Only absolute paths are offered; a URL is refused by name, so that nobody waits for a backup to it.
    """
    if "://" in location:
        scheme = location.partition("://")[0]
        raise LocationNotAvailableError(
            f"Repositories at {scheme}:// cannot be opened by this version.",
            hint="Use a directory that the workers of the group reach, as an absolute path.",
            details={"location": [f"{scheme}:// is not available."]},
        )
    if not location.startswith("/") or "\0" in location or len(location) > MAX_LENGTH:
        raise ValidationFailedError(
            "The location of a repository is an absolute path.",
            hint="Write the path as the workers see it, for example /srv/backup/repository.",
            details={"location": ["Not an absolute path."]},
        )
    # Two leading slashes are one directory on every platform that is supported.
    return "/" + posixpath.normpath(location).lstrip("/")
