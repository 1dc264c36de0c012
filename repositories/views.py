"""The API of repositories: parse, call, serialize (E1, E7). Opens no repository and decides nothing."""

import uuid

from rest_framework.request import Request
from rest_framework.response import Response

from repositories import examples
from repositories.answers import FREEZES, REPOSITORIES, REPOSITORY
from repositories.freezing import repository_freeze, repository_unfreeze
from repositories.limits import repository_limit
from repositories.looking import repository_look
from repositories.selectors import freeze_journal, repositories_visible, repository_get
from repositories.serializers import (
    FreezeInput,
    JournalFilter,
    LimitsInput,
    RegisterInput,
    RepositoryFilter,
    UnfreezeInput,
    freeze_json,
    repository_json,
)
from repositories.services import repository_register
from syncova_project import clock
from syncova_project.access.scopes import Scope
from syncova_project.rest import ApiView, Created, NoBody, actor_of, create_once


class RepositoriesView(ApiView):
    """GET lists all repositories, without pages: an installation has a handful. POST registers one (202)."""

    scopes = {"GET": (Scope.REPOSITORIES_READ,), "POST": (Scope.REPOSITORIES_WRITE,)}
    keyed = frozenset({"POST"})
    answers = {"GET": REPOSITORIES, "POST": REPOSITORY}
    examples = {"POST": examples.REGISTRATION}
    bodies, queries, statuses = {"POST": RegisterInput}, {"GET": RepositoryFilter}, {"POST": 202}

    def get(self, request: Request) -> Response:
        """Return every repository, also those that take no backups, with the reason."""
        search = self.query(request).get("search", "")
        found = repositories_visible().filter(name__icontains=search)
        return Response({"repositories": [repository_json(repository) for repository in found]})

    def post(self, request: Request) -> Response:
        """Register a repository; a worker of its group opens it, and its state then says how that went."""
        values = self.body(request)
        password = values.pop("password").encode()

        def create() -> Created:
            made = repository_register(password=password, actor=actor_of(request), now=clock.now(), **values)
            return Created(202, repository_json(repository_get(made.id)), f"/api/v1/repositories/{made.id}")

        return create_once(request, create)


class RepositoryFreezeView(ApiView):
    """POST freezes a repository: nothing new starts on it, what runs goes on (G1)."""

    scopes = {"POST": (Scope.REPOSITORIES_WRITE,)}
    answers = {"POST": REPOSITORY}
    examples = {"POST": examples.FREEZE}
    bodies = {"POST": FreezeInput}

    def post(self, request: Request, repository_id: uuid.UUID) -> Response:
        """Return the frozen repository; the same reason twice is one freeze."""
        reason = self.body(request)["reason"]
        repository_freeze(repository_id=repository_id, reason=reason, actor=actor_of(request), now=clock.now())
        return Response(repository_json(repository_get(repository_id)))


class RepositoryJournalView(ApiView):
    """GET reads the freeze journal of a repository, newest first: open rows and cleared ones (G1)."""

    scopes = {"GET": (Scope.REPOSITORIES_READ,)}
    answers = {"GET": FREEZES}
    queries = {"GET": JournalFilter}

    def get(self, request: Request, repository_id: uuid.UUID) -> Response:
        """Return up to `limit` rows before the given number."""
        wanted = self.query(request)
        rows = freeze_journal(repository_id)
        older = rows.filter(id__lt=wanted["before"]) if "before" in wanted else rows
        return Response({"freezes": [freeze_json(row) for row in older[: wanted["limit"]]]})


class RepositoryLimitsView(ApiView):
    """PUT sets how many runs may write at once, and the serial gate (C2, G3); repeating it is harmless."""

    scopes = {"PUT": (Scope.REPOSITORIES_WRITE,)}
    answers = {"PUT": REPOSITORY}
    examples = {"PUT": examples.LIMITS}
    bodies = {"PUT": LimitsInput}

    def put(self, request: Request, repository_id: uuid.UUID) -> Response:
        """Return the repository as it is then."""
        repository_limit(repository_id=repository_id, actor=actor_of(request), now=clock.now(), **self.body(request))
        return Response(repository_json(repository_get(repository_id)))


class RepositoryLookView(ApiView):
    """POST asks a worker which repository lies at the location now (A10); `look_pending` says when it has answered."""

    scopes = {"POST": (Scope.REPOSITORIES_WRITE,)}
    answers = {"POST": REPOSITORY}
    bodies, statuses = {"POST": NoBody}, {"POST": 202}

    def post(self, request: Request, repository_id: uuid.UUID) -> Response:
        """Return the repository as it is known so far."""
        self.body(request)
        repository = repository_look(repository_id=repository_id, actor=actor_of(request), now=clock.now())
        return Response(repository_json(repository), status=202)


class RepositoryUnfreezeView(ApiView):
    """POST clears every open freeze (G1, G5); repeating it is harmless."""

    scopes = {"POST": (Scope.REPOSITORIES_WRITE,)}
    answers = {"POST": REPOSITORY}
    examples = {"POST": examples.UNFREEZE}
    bodies = {"POST": UnfreezeInput}

    def post(self, request: Request, repository_id: uuid.UUID) -> Response:
        """Return the repository as it is then."""
        wanted = self.body(request)
        repository_unfreeze(repository_id=repository_id, actor=actor_of(request), now=clock.now(), **wanted)
        return Response(repository_json(repository_get(repository_id)))
