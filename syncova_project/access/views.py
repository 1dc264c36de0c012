"""The API of access control: parse, call, serialize. Decides nothing."""

from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from syncova_project import clock
from syncova_project.access.answers import AUDIT, NEW_TOKEN, TOKEN_EXAMPLE, TOKENS
from syncova_project.access.scopes import Scope
from syncova_project.access.selectors import audit_matching, own_tokens
from syncova_project.access.serializers import AuditFilter, PageFilter, TokenBody, audit_json, token_json
from syncova_project.access.services import no_such_token, token_create, token_revoke
from syncova_project.access.tokens import is_prefix
from syncova_project.paging import Ordering, PageRequest, read_page
from syncova_project.rest import ApiView, Created, actor_of, create_once, principal_of

NEWEST: Final = Ordering("-at", "at", descending=True)
NEWEST_TOKENS: Final = Ordering("-created_at", descending=True)
# Whoever is known has tokens of their own.
ANY: Final = tuple(Scope)


class AuditView(ApiView):
    """GET lists who did what, newest first; filters: actor, action, subject, time."""

    scopes = {"GET": (Scope.AUDIT_READ,)}
    queries, answers = {"GET": AuditFilter}, {"GET": AUDIT}

    def get(self, request: Request) -> Response:
        """Return one page of the audit trail."""
        filters = self.query(request)
        cursor, limit = filters.pop("cursor"), filters.pop("limit")
        page = read_page(audit_matching(filters), PageRequest(NEWEST, filters, cursor, limit))
        return Response({"entries": [audit_json(entry) for entry in page.rows], "next_cursor": page.next_cursor})


class TokensView(ApiView):
    """GET lists the caller's own tokens; POST makes one (201), which is shown in this answer alone."""

    scopes = {"GET": ANY, "POST": ANY}
    keyed = frozenset({"POST"})
    answers, examples = {"GET": TOKENS, "POST": NEW_TOKEN}, {"POST": TOKEN_EXAMPLE}
    bodies, queries, statuses = {"POST": TokenBody}, {"GET": PageFilter}, {"POST": 201}

    def get(self, request: Request) -> Response:
        """Return one page of tokens, revoked ones too."""
        wanted = self.query(request)
        rows = own_tokens(principal_of(request))
        page = read_page(rows, PageRequest(NEWEST_TOKENS, {}, wanted["cursor"], wanted["limit"]))
        return Response({"tokens": [token_json(token) for token in page.rows], "next_cursor": page.next_cursor})

    def post(self, request: Request) -> Response:
        """Return the new token with its secret."""
        body, maker = self.body(request), principal_of(request)

        def create() -> Created:
            token, plain = token_create(**body, maker=maker, now=clock.now())
            return Created(201, {**token_json(token), "token": plain}, f"/api/v1/tokens/{token.prefix}")

        return create_once(request, create, secret=True)


class TokenView(ApiView):
    """DELETE revokes a token of the caller's own, and all that were made with it."""

    scopes = {"DELETE": ANY}
    statuses = {"DELETE": 204}

    def delete(self, request: Request, token_id: str) -> Response:
        """Revoke the token; repeating it changes nothing."""
        if not is_prefix(token_id) or not own_tokens(principal_of(request)).filter(prefix=token_id).exists():
            raise no_such_token(token_id)
        token_revoke(prefix=token_id, actor=actor_of(request), now=clock.now())
        return Response(status=204)
