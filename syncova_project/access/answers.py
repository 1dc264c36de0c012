"""What the answers about tokens and the audit trail hold, field by field (7.7).

Owns the forms that the API's description shows; access.serializers fills them. Decides nothing.
"""

from typing import Any, Final

from syncova_project.access.scopes import Scope
from syncova_project.answer_shapes import INSTANT, NUMBER, OPEN, TEXT, Form, many, named, one_of, or_null, page, thing

_TOKEN: Final[dict[str, Form]] = {
    "id": TEXT,
    "name": TEXT,
    "scopes": many(one_of(Scope)),
    "worker_groups": or_null(many(TEXT)),
    "created_at": INSTANT,
    "expires_at": or_null(INSTANT),
    "last_used_at": or_null(INSTANT),
    "revoked_at": or_null(INSTANT),
}
TOKEN: Final = named("Token", thing(_TOKEN), "A token, by the part of it that is no secret.")
NEW_TOKEN: Final = named("NewToken", thing({**_TOKEN, "token": TEXT}), "A token in the one answer that shows it whole.")
TOKENS: Final = page("tokens", TOKEN)
AUDIT: Final = page(
    "entries",
    thing(
        {
            "id": NUMBER,
            "at": INSTANT,
            "actor": TEXT,
            "action": TEXT,
            "subject_type": TEXT,
            "subject_id": TEXT,
            "details": OPEN,
            "request_id": TEXT,
            "address": TEXT,
        }
    ),
)
TOKEN_EXAMPLE: Final[dict[str, Any]] = {
    "name": "nightly report",
    "scopes": ["jobs.read", "runs.read"],
    "expires_at": "2027-01-01T00:00:00Z",
}
