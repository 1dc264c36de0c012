"""Restores that delete: only what a plan has shown, of the backup that it named (rule 20).

Owns the tie between the two runs. The engine spares what was changed since the plan was made.
"""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from jobs.models import Run
from jobs.states import RunKind, RunState
from repositories.models import Repository
from syncova_project.errors import ValidationFailedError

# What may differ between the plan's order and the one that carries it out.
_OWN: Final = ("dry_run", "plan")


def as_planned(kind: RunKind, repository: Repository, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters with the backup and the moment of the plan that they name; others as they are.

    Raises ValidationFailedError unless that is a finished dry run of the same order on this repository.
    """
    if kind is not RunKind.RESTORE or not wanted.get("delete") or wanted.get("dry_run"):
        return {name: value for name, value in wanted.items() if name != "plan" or value is not None}
    done = _plan(repository, wanted.get("plan"))
    if done is None:
        raise _refused("Is no finished dry run of a restore from this repository.")
    if _asked(done.parameters) != _asked(wanted):
        raise _refused("Was made for another order: ask for the same again, with dry_run.")
    told = done.reason_parameters
    return {**wanted, "backup": told["backup_id"], "at_ns": None, "delete_before_ns": told["planned_ns"]}


def _plan(repository: Repository, named: object) -> Run | None:
    try:
        plan_id = uuid.UUID(str(named))
    except ValueError:
        return None
    ended = Run.objects.filter(id=plan_id, repository=repository, kind=RunKind.RESTORE, state=RunState.SUCCEEDED)
    done = ended.first()
    return done if done is not None and {"backup_id", "planned_ns"} <= set(done.reason_parameters) else None


def _asked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name not in _OWN}


def _refused(sentence: str) -> ValidationFailedError:
    hint = "First ask with dry_run, wait for that run and look at its result; then name it as plan."
    return ValidationFailedError(f"plan: {sentence}", hint=hint, details={"plan": [sentence]})
