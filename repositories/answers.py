"""What the answers about repositories hold, field by field (7.7).

Owns the forms that the API's description shows; repositories.serializers fills them. Decides nothing.
"""

from typing import Final

from repositories.backup_listing import COMPLETE, PARTIAL
from repositories.models import BackupMode, RepositoryState
from syncova_project.answer_shapes import (
    FLAG,
    ID,
    INSTANT,
    NUMBER,
    TEXT,
    Form,
    listed,
    many,
    named,
    one_of,
    or_null,
    page,
    thing,
)

FREEZE: Final = named(
    "Freeze",
    thing(
        {
            "number": NUMBER,
            "frozen_at": INSTANT,
            "frozen_by": TEXT,
            "reason": TEXT,
            "run": or_null(ID),
            "cleared_at": or_null(INSTANT),
            "cleared_by": or_null(TEXT),
        }
    ),
    "A row of the freeze journal; open while nobody has cleared it.",
)
_REPOSITORY: Final[dict[str, Form]] = {
    "id": ID,
    "name": TEXT,
    "location": TEXT,
    "worker_group": TEXT,
    "state": one_of(RepositoryState),
    "state_code": TEXT,
    "state_reason": TEXT,
    "repository_id": or_null(TEXT),
    "observed_repository_id": or_null(TEXT),
    "observed_at": or_null(INSTANT),
    "look_pending": FLAG,
    "swapped": FLAG,
    "accepts_backups": FLAG,
    "refusal_code": or_null(TEXT),
    "refusal_reason": or_null(TEXT),
    "trouble": or_null(thing({"code": TEXT, "reason": TEXT, "since": INSTANT})),
    "epoch": NUMBER,
    "reindex_wanted": or_null(thing({"reason": TEXT, "since": INSTANT})),
    "reindexed_at": or_null(INSTANT),
    "freezes": many(FREEZE),
    "max_concurrent_runs": NUMBER,
    "serial_gate": FLAG,
    "created_at": INSTANT,
}
REPOSITORY: Final = named(
    "Repository",
    thing(_REPOSITORY),
    "A repository that is registered: whether it takes backups, and why not. Never a secret.",
)
PROOF: Final = thing(
    {
        **dict.fromkeys(("bytes", "verified_bytes"), NUMBER),
        "percent": or_null(NUMBER),
        "oldest_verified_at": or_null(INSTANT),
    }
)
REPOSITORY_PAGE: Final = named(
    "RepositoryPage",
    thing(
        {
            **_REPOSITORY,
            "figures": thing(
                {
                    **dict.fromkeys(("backups", "sources", "bytes_read", "bytes_stored"), NUMBER),
                    **dict.fromkeys(("oldest_at", "newest_at"), or_null(INSTANT)),
                    "proof": or_null(PROOF),
                }
            ),
            "trend": many(
                thing(
                    {
                        "day": {"type": "string", "format": "date"},
                        **dict.fromkeys(("backups", "logical_bytes", "bytes_read", "bytes_stored"), NUMBER),
                        "proof": or_null(PROOF),
                    }
                )
            ),
        }
    ),
    "A repository with what its backups came to and what its checks have proven: in all, and by day.",
)
REPOSITORIES: Final = listed("repositories", REPOSITORY)
FREEZES: Final = listed("freezes", FREEZE)
BACKUP: Final = named(
    "Backup",
    thing(
        {
            "id": ID,
            "backup_id": TEXT,
            "manifest_id": TEXT,
            "repository": thing({"id": ID, "name": TEXT}),
            "created_at": INSTANT,
            "state": one_of((COMPLETE, PARTIAL)),
            "late": FLAG,
            "lineage": thing({"mode": one_of(BackupMode), "chain": TEXT, "parent": or_null(TEXT)}),
            "source": thing({"id": or_null(ID), "name": TEXT, "type": TEXT, "host": TEXT}),
            "origin": thing(
                {"run": or_null(ID), "job": or_null(ID), "trigger": TEXT, "scheduled_for": or_null(INSTANT)}
            ),
            "files": NUMBER,
            "logical_bytes": NUMBER,
            "bytes_read": NUMBER,
            "bytes_added": NUMBER,
            "problems": thing({"skipped": NUMBER, "warnings": NUMBER}),
        }
    ),
    "A backup as the catalogue knows it: a reference to its manifest, with its figures in bytes.",
)
BACKUPS: Final = page("backups", BACKUP)
