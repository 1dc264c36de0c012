"""What may be asked of a run that belongs to no job: the checks of its parameters that need other rows or settings.

Owns the refusals, each with the field of the API that it is about. The executing worker asks its own roots again.
"""

import base64
import os
import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from jobs.errors import RepositoryNotReadyError, RestoreTargetNotAllowedError
from jobs.models import Runner
from jobs.restore_targets import refusal
from jobs.source_paths import normalise
from jobs.states import RunKind, RunnerKind
from repositories.engine.display import show_path
from repositories.models import Repository, RepositoryState
from syncova_project.access.visibility import within_sight
from syncova_project.errors import ValidationFailedError

_RULES = ("last", "hourly", "daily", "weekly", "monthly", "yearly", "within_seconds", "tags")


def refuse_parameters(kind: RunKind, repository: Repository, parameters: Mapping[str, Any]) -> None:
    """Raise what is wrong with the parameters: ValidationFailedError, RestoreTargetNotAllowedError or, for the
    repository that a copy reads, RepositoryNotReadyError.
    """
    if kind is RunKind.RESTORE and not parameters.get("in_place"):
        _refuse_target(repository, parameters)
    elif kind is RunKind.COPY:
        _refuse_origin(repository, parameters)
    elif kind is RunKind.FORGET:
        _refuse_no_rule(parameters)


def _refuse_target(repository: Repository, parameters: Mapping[str, Any]) -> None:
    target = base64.b64decode(str(parameters.get("target_base64", "")))
    runner = Runner.objects.filter(kind=RunnerKind.GROUP, name__iexact=repository.worker_group).first()
    roots = (runner.restore_roots if runner else None) or settings.SYNCOVA_RESTORE_ROOTS
    try:
        named = normalise(target)
    except ValueError as error:
        raise ValidationFailedError(f"target: {error}", details={"target": [str(error)]}) from error
    why = refusal(named, [os.fsencode(root) for root in roots], [os.fsencode(settings.DATA_DIR)])
    if why is not None:
        shown = ", ".join(show_path(os.fsencode(root)) for root in roots)
        message = f"{show_path(target)} {why}"
        hint = f"Restore below one of: {shown}"
        raise RestoreTargetNotAllowedError(message, hint=hint, details={"target": [message]})


def _refuse_origin(repository: Repository, parameters: Mapping[str, Any]) -> None:
    named = uuid.UUID(str(parameters.get("from_repository_id")))
    if named == repository.id:
        sentence = "Is the repository itself: name another one."
        raise ValidationFailedError(sentence, details={"from_repository_id": [sentence]})
    origin = within_sight(Repository.objects.filter(id=named), "worker_group").first()
    if origin is None:
        sentence = f"There is no repository {named}."
        raise ValidationFailedError(
            sentence,
            hint="List them with: ./syncova ctl repository list",
            details={"from_repository_id": [sentence]},
        )
    if origin.state != RepositoryState.ACTIVE:
        raise RepositoryNotReadyError(
            f"The repository to copy from, {origin.name}, has not been opened.",
            hint="List them with: ./syncova ctl repository list",
        )


def _refuse_no_rule(parameters: Mapping[str, Any]) -> None:
    rules = [parameters.get(f"keep_{name}") for name in _RULES]
    if parameters.get("backups") or any(rules):
        return
    sentence = "Name backups, or give at least one keep rule: without either nothing says what may go."
    raise ValidationFailedError(sentence, details={"backups": [sentence]})
