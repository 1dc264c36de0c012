"""The one shape of every error that leaves the server (E8): {"error": {"code", "message", "hint", "details"}}.

Owns turning any exception into status, code and sentence. Nothing here quotes an exception that it does not know:
an unexpected one is logged with its trace and answered as INTERNAL.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from django.conf import settings
from django.core.exceptions import (
    BadRequest,
    DisallowedHost,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.http import Http404
from rest_framework import exceptions as rest

from syncova_project.access.origin import current_origin
from syncova_project.database_faults import is_away
from syncova_project.errors import SyncovaError, ValidationFailedError
from syncova_project.log import single_line

log = logging.getLogger(__name__)

MOST_SHOWN: Final = 1000
_END_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """One error as it is answered: HTTP status, stable code, sentence, next step, and values to act on."""

    status: int
    code: str
    message: str
    hint: str = ""
    details: Mapping[str, object] = field(default_factory=dict)

    def body(self) -> dict[str, object]:
        """Return the JSON body."""
        error = {
            "code": self.code,
            "message": _bounded(self.message),
            "hint": _bounded(self.hint),
            "details": {_bounded(name): _harmless(value) for name, value in self.details.items()},
        }
        return {"error": error}


NOT_FOUND = ErrorAnswer(
    404, "NOT_FOUND", "There is nothing at this address.", "GET /api/v1/schema lists every address."
)
MALFORMED = ErrorAnswer(
    400, "MALFORMED_REQUEST", "The request cannot be read.", "Check its address, its headers and its encoding."
)
NOT_ALLOWED = ErrorAnswer(
    405,
    "METHOD_NOT_ALLOWED",
    "This address does not take this method.",
    "The answer's Allow header lists those it takes.",
)
FORBIDDEN = ErrorAnswer(
    403, "PERMISSION_DENIED", "This request is not allowed.", "Ask for the right, or ask with a token that has it."
)
# After so long a database that was away is asked again.
WAIT_SECONDS = 5
UNAVAILABLE = ErrorAnswer(503, "UNAVAILABLE", "The database does not answer now.", "Try again in a few seconds.")

TOO_LARGE = ErrorAnswer(413, "REQUEST_TOO_LARGE", "The request's body is too large.")

TOO_MUCH = (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent)

# The first class that fits decides, so subclasses stand before their bases.
KNOWN: tuple[tuple[type[Exception] | tuple[type[Exception], ...], ErrorAnswer], ...] = (
    ((Http404, rest.NotFound), NOT_FOUND),
    (
        rest.NotAuthenticated,
        ErrorAnswer(401, "UNAUTHENTICATED", "A token is needed.", "Send it as: Authorization: Bearer syncova_…"),
    ),
    (
        rest.AuthenticationFailed,
        ErrorAnswer(
            401, "UNAUTHENTICATED", "The token is not valid.", "It is wrong, expired or revoked: get a new one."
        ),
    ),
    ((PermissionDenied, rest.PermissionDenied), FORBIDDEN),
    (
        rest.UnsupportedMediaType,
        ErrorAnswer(415, "UNSUPPORTED_MEDIA_TYPE", "The body is not JSON.", "Send Content-Type: application/json."),
    ),
    (
        rest.NotAcceptable,
        ErrorAnswer(406, "NOT_ACCEPTABLE", "Answers are JSON only.", "Send Accept: application/json or no Accept."),
    ),
    (rest.Throttled, ErrorAnswer(429, "THROTTLED", "Too many requests.", "Wait a little and try again.")),
    (
        rest.ParseError,
        ErrorAnswer(
            400, "MALFORMED_REQUEST", "The body is not valid JSON.", "Send one JSON object in UTF-8, without NaN."
        ),
    ),
    (
        DisallowedHost,
        ErrorAnswer(
            400,
            "MALFORMED_REQUEST",
            "This server is not known by the name in the request's Host header.",
            "Ask it by its own address, or set SYNCOVA_PUBLIC_URL to the one that clients use.",
        ),
    ),
    ((SuspiciousOperation, BadRequest), MALFORMED),
)


def answer_to(error: Exception) -> ErrorAnswer:
    """Return what to answer to any exception; logs it with its trace if it is not one that a client can cause."""
    if isinstance(error, SyncovaError) and error.status < 500:
        return ErrorAnswer(error.status, error.code, error.message, error.hint, _details_of(error))
    if isinstance(error, rest.ValidationError):
        details = flat_details(error.detail)
        names = ", ".join(name for name in details if name != "body")
        message = f"Not acceptable: {names}." if names else "The request's content is not acceptable."
        return ErrorAnswer(400, "VALIDATION_FAILED", message, "See details for each field.", details)
    if isinstance(error, rest.MethodNotAllowed):
        return NOT_ALLOWED
    if isinstance(error, TOO_MUCH):
        return replace(TOO_LARGE, hint=f"It may have at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes.")
    known = known_answer(error)
    if known is None or known.status >= 500:
        log.error("A request failed (request %s).", current_origin().request_id, exc_info=error)
    if isinstance(error, SyncovaError):
        return ErrorAnswer(error.status, error.code, error.message, error.hint, error.details)
    return known or internal()


def known_answer(error: Exception) -> ErrorAnswer | None:
    """Return the answer to an error of the framework or of the database that a client or an operator can know."""
    found = next((answer for kinds, answer in KNOWN if isinstance(error, kinds)), None)
    return UNAVAILABLE if found is None and is_away(error) else found


def own_answers() -> tuple[ErrorAnswer, ...]:
    """Return the answers to what is no error of this project: those of the framework, and the unexpected."""
    return (*(answer for _, answer in KNOWN), NOT_ALLOWED, TOO_LARGE, UNAVAILABLE, internal())


def internal() -> ErrorAnswer:
    """Return the answer to an unexpected error: it names the request, so that the log's trace can be found."""
    return ErrorAnswer(
        500,
        "INTERNAL",
        "The server failed at this request.",
        "The server's log has the reason under the request's id.",
        {"request_id": current_origin().request_id},
    )


def flat_details(detail: object, name: str = "") -> dict[str, list[str]]:
    """Map each field's name (`sources.0.path`) to its sentences, from DRF's nested lists and dictionaries."""
    if isinstance(detail, Mapping):
        parts = ((_joined(name, str(key)), value) for key, value in detail.items())
    elif isinstance(detail, list) and any(isinstance(item, Mapping | list) for item in detail):
        parts = ((_joined(name, str(position)), item) for position, item in enumerate(detail) if item)
    else:
        return {name or "body": [str(item) for item in (detail if isinstance(detail, list) else [detail])]}
    found: dict[str, list[str]] = {}
    for part, value in parts:
        for key, sentences in flat_details(value, part).items():
            found.setdefault(key, []).extend(sentences)
    return found


def _details_of(error: SyncovaError) -> Mapping[str, object]:
    """A refused field has a list of sentences, whether one check refused it or several."""
    if not isinstance(error, ValidationFailedError):
        return error.details
    return {name: [value] if isinstance(value, str) else value for name, value in error.details.items()}


def _harmless(value: object) -> object:
    """Messages quote names that a client or a disk chose; an unpaired surrogate could not even be sent."""
    if isinstance(value, str):
        return _bounded(value)
    return [_harmless(each) for each in value] if isinstance(value, list) else value


def _bounded(text: str) -> str:
    """Keep both ends of a sentence: what a client sent may be a megabyte, and what is wrong with it stands after it."""
    line = single_line(text)
    return line if len(line) <= MOST_SHOWN else f"{line[:_END_SHOWN]} … {line[-_END_SHOWN:]}"


def _joined(name: str, key: str) -> str:
    if key == "non_field_errors":
        return name
    return f"{name}.{key}" if name else key
