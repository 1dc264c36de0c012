"""The API's OpenAPI description, made from what the views themselves read: rights, bodies, query parameters.

Owns how a view is described. The forms of answers are told by the apps, in the words of answer_shapes; one whose app
tells none is any object.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from syncova_project.access.idempotency import MAX_KEY
from syncova_project.answer_shapes import COMPONENTS
from syncova_project.error_codes import known_codes

VERSION_PREFIX = "/api/v1/"


ERROR_EXAMPLE = {
    "error": {
        "code": "VALIDATION_FAILED",
        "message": "Not acceptable: priority.",
        "hint": "See details for each field.",
        "details": {"priority": ["Must be one of low, normal, high, critical, not urgent."]},
    }
}


# The codes of each are told by ErrorDescription.
REFUSALS: Final[Mapping[int, str]] = {
    400: "The request cannot be read, or holds what is not acceptable; `details` names the fields.",
    401: "No token, or one that does not count (any more).",
    403: "The right is lacking.",
    404: "There is nothing at this address that the caller sees.",
    409: "The present state does not allow it.",
    412: "It has been changed since If-Match.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    428: "If-Match is missing.",
    429: "Too many requests: wait for as long as Retry-After says.",
    503: "The database does not answer now: ask again.",
    0: "Refused or failed.",
}


class ErrorDescription(serializers.Serializer[Any]):
    """What went wrong: a stable code, a sentence, the next step, and values to act on."""

    code = serializers.CharField()
    message = serializers.CharField()
    hint = serializers.CharField(allow_blank=True)
    details = serializers.DictField()


class ErrorBody(serializers.Serializer[Any]):
    """The one shape of every error."""

    error = ErrorDescription()


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Tokens in the Authorization header."""

    target_class = "syncova_project.access.authentication.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """Return the scheme's description."""
        return {"type": "http", "scheme": "bearer", "description": "An API token: syncova_…"}


class PersonScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The session of a person who has logged in."""

    target_class = "syncova_project.access.authentication.PersonAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """Return the scheme's description."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "The cookie of the admin's login; what changes something needs the header X-CSRFToken too.",
        }


class ApiSchema(AutoSchema):
    """Describes an ApiView by its `scopes`, `bodies`, `queries` and `statuses`."""

    @property
    def _described(self) -> Any:
        """The ApiView that is described; its class imports this module, so its type cannot be named here."""
        return self.view

    def get_operation_id(self) -> str:
        """Return the method and the address, so that no two operations share a name."""
        words = re.findall(r"[a-z_]+", self.path.removeprefix(VERSION_PREFIX))
        return "_".join([self.method.lower(), *words])

    def get_description(self) -> str:  # type: ignore[override]
        """Return the view's sentence, the method's, and the right that is needed."""
        scopes = " or ".join(self._described.scopes.get(self.method, ()))
        own = getattr(self.view, self.method.lower()).__doc__ or ""
        return f"{(self.view.__doc__ or '').strip()}\n\n{own.strip()}\n\nNeeds {scopes}."

    def get_override_parameters(self) -> list[Any]:
        """Return the query parameters and the headers that the view reads."""
        query = self._described.queries.get(self.method)
        needed = self._described.conditions.get(self.method)
        found = [each for each in (query, None if needed is None else _if_match(needed=needed)) if each is not None]
        keyed = (_KEY,) if self.method in self._described.keyed else ()
        tagged = (_IF_NONE_MATCH,) if self.method in self._described.tagged else ()
        return [*found, *keyed, *tagged, *(_RANGE if self.method in self._described.ranges else ())]

    def get_request_serializer(self) -> Any:
        """Return the body that the view reads."""
        return self._described.bodies.get(self.method)

    def get_tags(self) -> list[str]:
        """Return the first word of the address: what it is about."""
        return re.findall(r"[a-z-]+", self.path.removeprefix(VERSION_PREFIX))[:1]

    def get_examples(self) -> list[OpenApiExample]:
        """Return the body that the view shows as one that it takes."""
        body = self._described.examples.get(self.method)
        return [] if body is None else [OpenApiExample("body", dict(body), request_only=True)]

    def get_response_serializers(self) -> Any:
        """Return the success of the view and the one shape of all its errors."""
        status = self._described.statuses.get(self.method, 200)
        form = self._described.answers.get(self.method)
        told: dict[Any, Any] = {
            str(status) if status else "default": OpenApiResponse(ErrorBody, description=description)
            for status, description in self._refusals().items()
        }
        media, pending = self._described.media.get(self.method), self._described.pending.get(self.method)
        if media is not None:
            told[str(status), media] = OpenApiResponse(OpenApiTypes.BINARY, description="Done.")
        if self.method in self._described.ranges:
            told["206", media] = OpenApiResponse(OpenApiTypes.BINARY, description="The part that Range asks for.")
        if self.method in self._described.tagged:
            told["304"] = OpenApiResponse(None, description="You have it already.")
        if media is None or form is not None:
            success = None if status == 204 else form or OpenApiTypes.OBJECT
            told[str(status), "application/json"] = OpenApiResponse(success, description="Done.")
        if pending is not None:
            told["202"] = OpenApiResponse(pending, description="Not yet: ask again at Location.")
        return told

    def _refusals(self) -> dict[int, str]:
        """Return the statuses of what can be refused here, with their meaning, 0 for any other."""
        needed, bodies = self._described.conditions.get(self.method), self.method in self._described.bodies
        possible = {
            404: "{" in self.path,
            409: self.method != "GET",
            412: needed is not None,
            413: bodies,
            415: bodies,
            428: bool(needed),
        }
        return {status: told for status, told in REFUSALS.items() if possible.get(status, True)}


def complete(result: dict[str, Any], **_context: Any) -> dict[str, Any]:
    """Return the description with the forms of answers and with every code that an error can have."""
    forms = result["components"]["schemas"]
    forms |= COMPONENTS
    codes = known_codes()
    # A new version may know more of them: a client must take a code that it does not know for one of its status.
    forms["ErrorDescription"]["properties"]["code"] |= {
        "enum": list(codes),
        "description": "\n".join(f"- `{one.code}` ({one.status}): {one.meaning}" for one in codes.values()),
    }
    forms["ErrorBody"]["examples"] = [ERROR_EXAMPLE]
    return result


_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": MAX_KEY},
    OpenApiParameter.HEADER,
    required=False,
    description=(
        "Any printable ASCII text of your choice. The same request with the same key gets, for 24 hours, the answer of "
        "the first one (with the header Idempotency-Replayed), and nothing is made twice; another request is 409."
    ),
)
_IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    required=False,
    description="The ETag of an earlier answer, or several: 304 without a body where one of them still holds.",
)
_RANGE = tuple(
    OpenApiParameter(name, str, OpenApiParameter.HEADER, required=False, description=told)
    for name, told in (
        ("Range", "One stretch, such as bytes=100-199 or bytes=-100; anything else is passed over."),
        ("If-Range", "The ETag of an earlier answer: of another file, all is sent."),
    )
)


def _if_match(*, needed: bool) -> OpenApiParameter:
    return OpenApiParameter(
        "If-Match", str, OpenApiParameter.HEADER, required=needed, description="The ETag that GET answered with."
    )
