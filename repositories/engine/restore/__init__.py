"""Restoring a backup into a directory: faithful, resumable, and never outside it.

Owns the way from a manifest to files. Reads the repository through its reader; never deletes what it did not make.
"""

from repositories.engine.restore.request import Overwrite, RestoreRequest, RestoreResult
from repositories.engine.restore.run import restore

__all__ = ["Overwrite", "RestoreRequest", "RestoreResult", "restore"]
