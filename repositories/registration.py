"""What a registration must satisfy: labels, key material, and what the database's refusals mean.

Writes nothing; services call it before and after the row is written.
"""

import re

from django.conf import settings
from django.db import IntegrityError
from django.db.models import Q, Value
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from repositories.errors import EncryptionRequiredError, RepositoryNameTakenError, RepositoryRegisteredError
from repositories.models import WORD, Repository, RepositoryState
from syncova_project.access.visibility import sees
from syncova_project.errors import PermissionDeniedError, ValidationFailedError


def refusal_by_constraint(repository: Repository, error: IntegrityError) -> Exception:
    """Return the conflict that the violated constraint means, or the error itself if it means a defect."""
    diagnosis = getattr(error.__cause__, "diag", None)
    constraint = getattr(diagnosis, "constraint_name", None)
    if constraint == "repositories_name_is_unique":
        known = Repository.objects.filter(name__iexact=repository.name).exclude(pk=repository.pk).first()
        name = known.name if known else repository.name
        hint = "Choose another name: capitals alone make none." if name != repository.name else "Choose another name."
        return RepositoryNameTakenError(f"There is a repository named {name!r} already.", hint=hint)
    if constraint == "repositories_adopted_id_is_unique":
        return RepositoryRegisteredError(
            f"The repository {repository.repository_id} is registered already under another name.",
            hint="Use the registered repository: several jobs can share one.",
        )
    if constraint == "repositories_location_is_registered_once":
        return RepositoryRegisteredError(
            f"{repository.location} is registered already for worker group {repository.worker_group!r}.",
            hint="Use the registered repository: several jobs can share one.",
        )
    return error


def refuse_unseen(*worker_groups: str) -> None:
    """Raise PermissionDeniedError unless the caller sees the repositories of all these groups."""
    for worker_group in worker_groups:
        if not sees(worker_group):
            raise PermissionDeniedError(
                "Repositories of this worker group are not yours to see.",
                hint="Name a group that your token sees, or ask somebody who sees all.",
            )


def require_key(password: bytes) -> None:
    """Refuse a repository without key material, unless the operator accepts such ones by name (A5)."""
    if password or settings.SYNCOVA_ALLOW_UNENCRYPTED:
        return
    raise EncryptionRequiredError(
        "A repository without a password is refused: its backups would be readable by anyone.",
        hint="Make one that has a password (./syncova repo create), or set SYNCOVA_ALLOW_UNENCRYPTED to accept it.",
        details={"password": ["May not be empty."]},
    )


def checked_group(value: str) -> str:
    """Return the name of a worker group in small letters; raise ValidationFailedError if it is not one word."""
    if re.fullmatch(WORD.removeprefix("^").removesuffix("$"), value):
        return value.lower()
    sentence = "Has to be 1 to 100 letters, digits, dots, underscores or dashes, beginning with a letter or digit."
    raise ValidationFailedError("The worker_group is not a name.", hint=sentence, details={"worker_group": [sentence]})


def checked_label(field: str, value: str, limit: int) -> str:
    """Return the text without outer blanks; raise ValidationFailedError naming the field if it is none or too long."""
    value = value.strip()
    if not value or len(value) > limit or "\0" in value:
        sentence = f"Has to be 1 to {limit} characters long, without NUL."
        raise ValidationFailedError(f"The {field} is not acceptable.", hint=sentence, details={field: [sentence]})
    return value


def known_one(name: str, location: str, worker_group: str) -> Repository | None:
    """Return the row that a registration takes over: a failed one by name, an opened one by its place as well."""
    same_name = Exact(Lower("name"), Lower(Value(name)))
    same_place = Q(state=RepositoryState.ACTIVE, location=location, worker_group=worker_group)
    taken_over = Repository.objects.filter(same_name).filter(Q(state=RepositoryState.FAILED) | same_place)
    return taken_over.select_for_update(no_key=True).first()
