"""Whether a program fits a database (H9), by what both say of the schema; pure.

Owns the rule. Who runs beside a migration is not judged here: a release leaves in place what the one before it reads.
"""

from collections.abc import Sequence

from syncova_project.errors import SyncovaError
from syncova_project.schema import versions
from syncova_project.schema.errors import SchemaInterruptedError, SchemaNewerError, SchemaOutdatedError
from syncova_project.schema.record import SchemaState, Standing

_MIGRATE = "Bring the tables up to date with: ./syncova manage migrate"
STATUS = "See how it stands with: ./syncova manage migrate status"


def newer(standing: Standing, known: Sequence[str] | None = None) -> SchemaNewerError | None:
    """Return why the database is newer than this program; asked before anything is migrated."""
    steps = versions.STEPS if known is None else known
    version, known_here = standing.version, {*steps, *standing.untabled}
    named = standing.applied | {version.migration if version is not None else ""}
    unknown = sorted(named - known_here - {""})
    ahead = version is not None and version.n > len(steps)
    if not ahead and not unknown:
        return None
    at = f"version {version.n}" if ahead and version is not None else f"migration {unknown[0]}"
    return SchemaNewerError(
        f"The database stands at {at}, and this program knows {len(steps)} versions: it is older than its database.",
        hint="Start the program that migrated it, or a newer one. Restoring needs no database.",
    )


def unfit(standing: Standing, known: Sequence[str] | None = None) -> SyncovaError | None:
    """Return why a server of this program may not start on the database."""
    steps = versions.STEPS if known is None else known
    found = newer(standing, steps)
    if found is not None:
        return found
    version = standing.version
    if version is not None and version.state is not SchemaState.CLEAN:
        told = "is under way, or was cut off" if version.state is SchemaState.RUNNING else "has failed"
        return SchemaInterruptedError(f"The migration {version.migration} {told}.", hint=STATUS)
    reached = versions.version_of(standing.applied, steps)
    if reached < len(steps):
        return SchemaOutdatedError(
            f"The database stands at version {reached} of {len(steps)}: it lacks {steps[reached]}.", hint=_MIGRATE
        )
    return None
