"""What epoch and fence that a repository holds say about this database and about the repository; pure.

Owns the comparisons of execution.md, section 5. Freezing, and refusing to delete, are the caller's.
"""

import enum
from dataclasses import dataclass

_REINDEX = "Nothing is deleted or planned until: ./syncova manage reindex_repository"


class Cause(enum.Enum):
    """What is wrong: only the first two are about this database, and end by indexing the repository again."""

    OLDER_DATABASE = "older_database"
    TWIN = "twin"
    ROLLED_BACK = "rolled_back"


@dataclass(frozen=True, slots=True)
class StoredMark:
    """What the repository holds of this control plane: 0 and 0 for nothing."""

    epoch: int
    fence: int


@dataclass(frozen=True, slots=True)
class KnownMark:
    """What the database knew before this opening: its epoch, the highest fence that may be, and that is, in there."""

    epoch: int
    intended: int
    confirmed: int


@dataclass(frozen=True, slots=True)
class Alarm:
    """Why the repository has to be frozen."""

    cause: Cause
    reason: str

    @property
    def wants_reindex(self) -> bool:
        """Whether the database is to learn from the repository before it goes on."""
        return self.cause is not Cause.ROLLED_BACK


def alarm(stored: StoredMark, known: KnownMark) -> Alarm | None:
    """Return what is wrong, or None."""
    if stored.epoch > known.epoch:
        return Alarm(
            Cause.TWIN,
            f"Another control plane has taken the repository over: epoch {stored.epoch} is written there, ours is "
            f"{known.epoch}. It works on a copy of this database, or this one was restored from a dump. {_REINDEX}",
        )
    if stored.fence > known.intended:
        return Alarm(
            Cause.OLDER_DATABASE,
            f"This database is older than the repository: the repository was written under fence {stored.fence}, "
            f"but the database knows of none above {known.intended}. {_REINDEX}",
        )
    if stored.fence < known.confirmed:
        return Alarm(
            Cause.ROLLED_BACK,
            f"The repository was rolled back: it was written under fence {known.confirmed}, "
            f"but now holds {stored.fence or 'none'}.",
        )
    return None
