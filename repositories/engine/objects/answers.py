"""What an error of the medium says about the request that it ended.

Owns the one question whether a request may have been carried out, or may be yet. What is not known to have failed must
be left alone: others may have seen it and rely on it.
"""

from typing import Final

from repositories.engine.errors import (
    CommitRefusedError,
    KeysChangedError,
    ObjectExistsError,
    ObjectMissingError,
    RepositoryError,
    RepositoryLockedError,
    StorageFullError,
    StorageReadOnlyError,
)

_ANSWERS: Final = (
    CommitRefusedError,
    KeysChangedError,
    ObjectExistsError,
    ObjectMissingError,
    RepositoryLockedError,
    StorageFullError,
    StorageReadOnlyError,
)


def may_be_done(failure: BaseException | None) -> bool:
    """Tell whether this is the error of a medium that did not answer: what it was asked for may be done, now or later.

    All others say what was done: nothing.
    """
    return isinstance(failure, RepositoryError) and not isinstance(failure, _ANSWERS)
