"""Restoring a backup into a directory: faithful, resumable, and never outside it.

Owns the way from a manifest to files. Reads the repository through its reader; deletes what it did not make only where
that was asked for and shown.
"""

from repositories.engine.restore.in_place import in_place_target, refuse_outside
from repositories.engine.restore.plan import plan
from repositories.engine.restore.request import (
    Deletion,
    DeletionResult,
    Overwrite,
    RestorePlan,
    RestoreRequest,
    RestoreResult,
)
from repositories.engine.restore.run import restore

__all__ = [
    "Deletion",
    "DeletionResult",
    "Overwrite",
    "RestorePlan",
    "RestoreRequest",
    "RestoreResult",
    "in_place_target",
    "plan",
    "refuse_outside",
    "restore",
]
