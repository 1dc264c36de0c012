"""What the fence that a repository holds says about this database and about the repository; pure.

Owns the two comparisons of execution.md, section 5. Freezing is the caller's.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownFences:
    """What the database knew before this opening: the highest fence that may be, and that is, in the repository."""

    intended: int
    confirmed: int


def alarm(stored: int, known: KnownFences) -> str | None:
    """Return why the repository has to be frozen, or None; `stored` is the fence found in it (0: none)."""
    if stored > known.intended:
        return (
            f"This database is older than the repository: the repository was written under fence {stored}, "
            f"but the database knows of none above {known.intended}."
        )
    if stored < known.confirmed:
        return (
            f"The repository was rolled back: it was written under fence {known.confirmed}, "
            f"but now holds {stored or 'none'}."
        )
    return None
