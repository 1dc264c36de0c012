"""What the answers about the inside of backups and about logs hold, field by field (7.7).

Owns the forms that the API's description shows; the engine's `entry_fields` and jobs.lookup_serializers fill them.
"""

from typing import Final

from repositories.lookup_rows import LookupState
from syncova_project.answer_shapes import (
    FLAG,
    ID,
    INSTANT,
    NUMBER,
    TEXT,
    Form,
    many,
    named,
    one_of,
    page,
    thing,
)

ENTRY: Final = named(
    "Entry",
    thing(
        {"path": TEXT, "type": TEXT, "mode": TEXT, **dict.fromkeys(("uid", "gid", "size", "mtime_ns"), NUMBER)},
        optional={
            **dict.fromkeys(("path_base64", "target", "target_base64", "hard_link", "device"), TEXT),
            "changed": FLAG,
        },
    ),
    "One object of a backup. `path_base64` only where `path` is not the exact name; `changed`: while it was read.",
)
_ANSWER: Final[dict[str, Form]] = {"lookup": ID, "backup_id": TEXT, "warnings": many(TEXT)}
FILES: Final = page("entries", ENTRY, {**_ANSWER, "is_directory": FLAG})
FOUND: Final = page("entries", ENTRY, {**_ANSWER, "unread": NUMBER})
EITHER: Final[Form] = {"anyOf": [FILES, FOUND]}
PENDING: Final = named(
    "Lookup",
    thing(
        {
            "id": ID,
            "state": one_of((LookupState.WAITING, LookupState.RUNNING)),
            "repository": ID,
            "backup_id": TEXT,
            "asked_at": INSTANT,
            "expires_at": INSTANT,
        }
    ),
    "A question that no worker has answered yet; Location says where the answer will be.",
)
_LINE: Final = thing({"number": NUMBER, "at": INSTANT, "level": TEXT, "message": TEXT})
LOG: Final = thing({"lines": many(_LINE), "truncated": FLAG})
