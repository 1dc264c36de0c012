"""Deleting backups by name or by keep rules, bringing them back, and tags, holds and notes upon them.

`plan` returns a value that says of each backup why it stays or goes; `forget` carries it out. Nothing here frees room:
that is the next prune's.
"""

from repositories.engine.forgetting.applying import ForgetResult, Spared, forget
from repositories.engine.forgetting.labels import (
    Held,
    LabelChange,
    change_labels,
    place_hold,
    release_holds,
    require_sensible,
)
from repositories.engine.forgetting.planning import ForgetPlan, ForgetRequest, Judged, plan
from repositories.engine.forgetting.undeleting import UndeleteResult, undelete

__all__ = [
    "ForgetPlan",
    "ForgetRequest",
    "ForgetResult",
    "Held",
    "Judged",
    "LabelChange",
    "Spared",
    "UndeleteResult",
    "change_labels",
    "forget",
    "place_hold",
    "plan",
    "release_holds",
    "require_sensible",
    "undelete",
]
