"""The API of runs that belong to no job: each POST queues one on a repository, 202 (7.3, 7.4). Decides nothing."""

import uuid
from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from jobs import examples
from jobs.database_time import database_now
from jobs.listing import HeldSentences
from jobs.operation_serializers import CheckOrder, CopyOrder, ForgetOrder, PruneOrder, RestoreOrder, goes_over
from jobs.representations import run_json
from jobs.run_answers import RUN
from jobs.selectors import run_get
from jobs.services import operation_request
from jobs.states import RunKind
from repositories.selectors import repository_get
from syncova_project.access.permissions import need_scope
from syncova_project.access.scopes import Scope
from syncova_project.rest import ApiView, Created, actor_of, create_once


class OperationView(ApiView):
    """POST queues a run of `kind` on the repository; what it found or would do stands in the run's `result`."""

    kind: ClassVar[RunKind]
    scopes = {"POST": (Scope.REPOSITORIES_WRITE,)}
    keyed = frozenset({"POST"})
    answers = {"POST": RUN}
    statuses = {"POST": 202}

    def post(self, request: Request, repository_id: uuid.UUID) -> Response:
        """Return the queued run; 409 where one of its kind is active, or the repository has not been opened."""
        order, kind = self.body(request), self.kind
        if goes_over(order):
            need_scope(request, Scope.RESTORES_IN_PLACE)
        repository_get(repository_id)

        def create() -> Created:
            run = operation_request(
                kind, repository_id=repository_id, parameters=order, actor=actor_of(request), now=database_now()
            )
            return Created(202, run_json(run_get(run.id), HeldSentences()), f"/api/v1/runs/{run.id}")

        return create_once(request, create)


class CheckView(OperationView):
    """POST asks whether all that the backups need is there and unharmed."""

    kind, bodies = RunKind.CHECK, {"POST": CheckOrder}
    examples = {"POST": examples.CHECK}


class PruneView(OperationView):
    """POST gives back the room of deleted backups; first without `dry_run: false`, for the plan."""

    kind, bodies = RunKind.PRUNE, {"POST": PruneOrder}
    examples = {"POST": examples.PRUNE}


class ForgetView(OperationView):
    """POST deletes backups by name or by keep rules; first without `dry_run: false`, for the plan."""

    kind, bodies = RunKind.FORGET, {"POST": ForgetOrder}
    examples = {"POST": examples.FORGET}


class CopyView(OperationView):
    """POST copies backups of another repository into this one."""

    kind, bodies = RunKind.COPY, {"POST": CopyOrder}
    examples = {"POST": examples.COPY}


class RestoreView(OperationView):
    """POST restores a backup into a directory below the allowed roots of the repository's worker group, or in place."""

    kind, bodies, scopes = RunKind.RESTORE, {"POST": RestoreOrder}, {"POST": (Scope.RESTORES_RUN,)}
    examples = {"POST": examples.RESTORE}
