"""Which right an endpoint asks for: views name scopes per method, this class compares.

Owns no list of endpoints. A view that names none for a method lets nobody in.
"""

from collections.abc import Mapping

from rest_framework import exceptions
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from syncova_project.access.authentication import Principal
from syncova_project.access.scopes import Scope
from syncova_project.errors import PermissionDeniedError


class HasScope(BasePermission):
    """Lets a principal in that holds any of the scopes which the view's `scopes` names for the method."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Return True, or raise: 401 without a token, 403 naming the rights that would do."""
        principal = request.user
        if not isinstance(principal, Principal):
            raise exceptions.NotAuthenticated
        scopes: Mapping[str, tuple[Scope, ...]] = getattr(view, "scopes", {})
        wanted = scopes.get("GET" if request.method == "HEAD" else str(request.method), ())
        if any(scope in principal.scopes for scope in wanted):
            return True
        raise PermissionDeniedError(
            "The token lacks the right for this request.",
            hint=f"It needs {' or '.join(wanted)}." if wanted else "",
            details={"needs_any_of": [str(scope) for scope in wanted]},
        )
