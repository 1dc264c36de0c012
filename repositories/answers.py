"""What the answers about repositories hold, field by field (7.7).

Owns the forms that the API's description shows; repositories.serializers fills them. Decides nothing.
"""

from typing import Final

from repositories.models import RepositoryState
from syncova_project.answer_shapes import FLAG, ID, INSTANT, NUMBER, TEXT, listed, many, named, one_of, or_null, thing

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
REPOSITORY: Final = named(
    "Repository",
    thing(
        {
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
    ),
    "A repository that is registered: whether it takes backups, and why not. Never a secret.",
)
REPOSITORIES: Final = listed("repositories", REPOSITORY)
FREEZES: Final = listed("freezes", FREEZE)
