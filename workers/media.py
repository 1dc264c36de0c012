"""What lets this machine in to a remote medium: its own credentials, added to what opens a repository.

Owns that they are read here, for each opening anew, and go nowhere but into the request's line on the engine's
standard input: never into a row, a message of the queues, an answer or a log.
"""

from dataclasses import replace

from repositories.console.failures import CommandError
from repositories.console.storage_credentials import credentials_for, with_region
from repositories.engine.storage.locations import parse_location
from repositories.opening import RepositoryAccess
from syncova_project import env
from syncova_project.errors import ConfigurationError


def reached(access: RepositoryAccess) -> RepositoryAccess:
    """Return the access with this machine's credentials for its medium, and its region where an S3 location has none.

    They are read from the worker's environment and settings file (docs/storage.md); a directory needs none. Raises
    ConfigurationError where what names them cannot be read.
    """
    place = parse_location(access.location)
    if isinstance(place, str):
        return access
    try:
        found = credentials_for(access.location, env.load())
    except CommandError as error:
        raise ConfigurationError(error.message, hint=error.hint) from None
    return replace(access, location=with_region(place).text, credentials=found)
