"""The API of what is inside backups: browse a directory, find (7.4). Decides nothing, and opens no repository.

A worker of the repository's group looks; whoever asks waits for it some seconds, and is then told where to ask again.
"""

import uuid
from collections.abc import Callable, Mapping
from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.database_time import database_now
from jobs.errors import GroupNotServedError
from jobs.groups import is_served
from jobs.lookup_answers import EITHER, FILES, FOUND, PENDING
from jobs.lookup_serializers import FilesFilter, FindFilter, answer_json, lookup_json, question_of
from repositories.backup_listing import backup_of
from repositories.backup_views import READ
from repositories.errors import LookupFailedError, PathNotInBackupError
from repositories.lookup_rows import LookupState, RepositoryLookup
from repositories.lookups import Question, lookup_ask, lookup_get
from syncova_project import clock
from syncova_project.rest import ApiView
from syncova_project.web.long_answers import PLACES, pause

WAIT_SECONDS: Final = 4.0
_FIRST_LOOK, _LATER_LOOKS = 0.05, 0.25


class BackupFilesView(ApiView):
    """GET lists a directory of a backup in name order; 202 where no worker has answered within some seconds."""

    scopes = {"GET": READ}
    queries = {"GET": FilesFilter}
    answers, pending = {"GET": FILES}, {"GET": PENDING}

    def get(self, request: Request, repository_id: uuid.UUID, backup: str) -> Response:
        """Return one page of the directory's entries, or the one object at the path."""
        return _asked(question_of(backup_of(repository_id, backup), "browse", self.query(request)))


class BackupFindView(ApiView):
    """GET finds paths in a backup; 202 where no worker has answered within some seconds."""

    scopes = {"GET": READ}
    queries = {"GET": FindFilter}
    answers, pending = {"GET": FOUND}, {"GET": PENDING}

    def get(self, request: Request, repository_id: uuid.UUID, backup: str) -> Response:
        """Return one page of what the pattern fits, in the order of the backup."""
        return _asked(question_of(backup_of(repository_id, backup), "find", self.query(request)))


class LookupView(ApiView):
    """GET reads the answer of a lookup that took longer: 202 until it is there, and for ten minutes."""

    scopes = {"GET": READ}
    answers, pending = {"GET": EITHER}, {"GET": PENDING}

    def get(self, request: Request, lookup_id: uuid.UUID) -> Response:
        """Return what the request that made the lookup would have returned."""
        return _answer(_awaited(lookup_get(lookup_id, now=database_now())))


def _asked(question: Question) -> Response:
    now, repository = database_now(), question.backup.repository
    if not is_served(repository.worker_group, now):
        raise GroupNotServedError(
            f"No worker of group {repository.worker_group} is there, and only they reach the repository.",
            hint="Start one there, or look on its machine: syncova-repo ls and find.",
            details={"worker_group": repository.worker_group},
        )
    return _answer(_awaited(lookup_ask(question, now=now)))


def _awaited(row: RepositoryLookup) -> RepositoryLookup:
    """Return the lookup once it has ended, or as it is after some seconds; at once where too many wait already."""
    with PLACES.taken() as has_place:
        end, distance = clock.monotonic() + WAIT_SECONDS, _FIRST_LOOK
        while has_place and row.state not in ENDS and clock.monotonic() < end and pause(distance):
            row, distance = lookup_get(row.pk, now=database_now()), _LATER_LOOKS
    return row


def _answer(row: RepositoryLookup) -> Response:
    return ENDS.get(row.state, _pending)(row)


def _pending(row: RepositoryLookup) -> Response:
    headers = {"Location": f"/api/v1/lookups/{row.pk}", "Retry-After": "1"}
    return Response(lookup_json(row), status=202, headers=headers)


def _found(row: RepositoryLookup) -> Response:
    answer = answer_json(row)
    if "missing" in answer:
        raise PathNotInBackupError(
            f"Backup {row.backup_id} does not hold the path: {answer['missing']}.",
            hint="Without path, the top directory is listed.",
        )
    return Response(answer)


def _failed(row: RepositoryLookup) -> Response:
    raise LookupFailedError(row.error_message, hint=row.error_hint, details={"code": row.error_code})


ENDS: Final[Mapping[str, Callable[[RepositoryLookup], Response]]] = {
    LookupState.ANSWERED: _found,
    LookupState.FAILED: _failed,
}
