"""The errors of the control plane: each has a stable code, a sentence and a next step (E8).

Owns the base classes alone; each app defines its own errors beside the rule that raises them.
"""

from collections.abc import Mapping
from typing import ClassVar


class SyncovaError(Exception):
    """An error that a person or a program may see.

    `code` is stable and documented in docs/errors.md; `status` is the HTTP status that the API answers with;
    `details` holds JSON values (never secrets) that a client may act on. `page_hint` is the next step of who acts on a
    page of the admin, where it is another one than the `hint` of a client.
    """

    code: ClassVar[str] = "INTERNAL"
    status: ClassVar[int] = 500

    def __init__(
        self, message: str, *, hint: str = "", details: Mapping[str, object] | None = None, page_hint: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.page_hint = page_hint or hint
        self.details = dict(details or {})


class ValidationFailedError(SyncovaError):
    """The request's content is not acceptable; `details` maps field names to sentences."""

    code = "VALIDATION_FAILED"
    status = 400


class NotFoundError(SyncovaError):
    """The named thing does not exist, or the caller may not see it."""

    code = "NOT_FOUND"
    status = 404


class ConflictError(SyncovaError):
    """The thing's present state does not allow the request."""

    code = "CONFLICT"
    status = 409


class PermissionDeniedError(SyncovaError):
    """The caller is known but lacks the named right."""

    code = "PERMISSION_DENIED"
    status = 403


class ConfigurationError(SyncovaError):
    """A setting is missing or wrong; the message names it."""

    code = "CONFIGURATION"
