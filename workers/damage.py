"""What a run's failure says of its repository: damaged, or in a state that is not to be trusted (G5). Pure.

Owns which failures freeze and the words that everybody reads who then waits. What failed for want of a medium, a
password or a right says nothing of what is stored.
"""

import uuid
from typing import Final

from jobs.executors import Damage, ExecutionRequest, ExecutionResult, Failure
from jobs.verdict import GRAVE
from workers.outcome import clean

# As long as the journal keeps.
_LONGEST: Final = 500


def found(request: ExecutionRequest, failure: Failure | None, repository_id: uuid.UUID | None = None) -> Damage | None:
    """Return what `failure` says of the run's repository, or of the other one that it reads; None: nothing."""
    if failure is None or failure.failure_class not in GRAVE:
        return None
    reason = clean(f"A {request.kind} run found {failure.code}: {failure.message}", _LONGEST)
    return Damage(repository_id or request.repository_id, reason)


def found_by_backup(request: ExecutionRequest, result: ExecutionResult) -> Damage | None:
    """Return what a backup's own failure, or that of its first gravely failing source, says of its repository."""
    failures = [result.failure, *(source.failure for source in result.sources)]
    return next((damage for failure in failures if (damage := found(request, failure)) is not None), None)
