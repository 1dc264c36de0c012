"""Opens the repository that a request or a command names. Owns nothing else: one place, one meaning of a location."""

from repositories.engine.process.protocol import RepositoryAccess
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.locations import open_storage


def open_for(access: RepositoryAccess) -> Repository:
    """Open the repository; raises RepositoryNotFoundError, WrongKeyError and the storage's errors."""
    return open_repository(open_storage(access.location), access.password.encode(), cache_dir=access.cache_dir)
