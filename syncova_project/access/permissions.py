"""Which right an endpoint asks for: views name scopes per method, this class compares.

Owns no list of endpoints. A view that names none for a method lets nobody in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from rest_framework import exceptions
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from syncova_project.access.principals import Principal
from syncova_project.access.scopes import Scope
from syncova_project.errors import PermissionDeniedError, SyncovaError

if TYPE_CHECKING:
    # Views load their default permissions, so this module must not load views.
    from rest_framework.views import APIView


class SessionEndedError(SyncovaError):
    """A token is needed, or a new login where a browser's session has ended."""

    code: ClassVar[str] = "UNAUTHENTICATED"
    status: ClassVar[int] = 401
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}

    def __init__(self) -> None:
        super().__init__(
            "You are not logged in, or not any more.",
            hint="Log in again at /admin/, then repeat it; machines send a token: Authorization: Bearer syncova_…",
        )


class HasScope(BasePermission):
    """Lets a principal in that holds any of the scopes which the view's `scopes` names for the method."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Return True, or raise: 401 without a token, 405 for a method with no rights, 403 naming rights."""
        principal = request.user
        if not isinstance(principal, Principal):
            if settings.SESSION_COOKIE_NAME in request.COOKIES:
                raise SessionEndedError
            raise exceptions.NotAuthenticated
        scopes: Mapping[str, tuple[Scope, ...]] = getattr(view, "scopes", {})
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in scopes:
            raise exceptions.MethodNotAllowed(method)
        check_scopes(principal, scopes[method])
        return True


def check_scopes(principal: Principal, wanted: tuple[Scope, ...]) -> None:
    """Raise PermissionDeniedError unless the principal holds any of these rights."""
    if not any(scope in principal.scopes for scope in wanted):
        raise _denied(wanted, principal)


def need_scope(request: Request, scope: Scope) -> None:
    """Raise PermissionDeniedError unless the caller holds `scope`: for what a part of a body asks for."""
    principal: object = request.user
    if not isinstance(principal, Principal):
        raise exceptions.NotAuthenticated
    check_scopes(principal, (scope,))


def _denied(wanted: tuple[Scope, ...], principal: Principal) -> PermissionDeniedError:
    rights = " or ".join(wanted)
    told, hint = "The token lacks the right for this request.", f"It needs {rights}."
    if principal.token is None:
        told = "You lack the right for this request."
        hint = f"It needs {rights}: ask somebody who may change users for it."
    return PermissionDeniedError(
        told,
        hint=hint,
        details={"needs_any_of": [str(scope) for scope in wanted]},
    )
