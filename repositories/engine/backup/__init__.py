"""Backing up a source into a repository: walk, read, compare with the parent, commit.

Owns the pipeline from names to a committed root. Stores nothing itself; the session does.
"""

from repositories.engine.backup.options import BackupOptions, BackupResult, Hooks, SourceSpec
from repositories.engine.backup.run import back_up

__all__ = ["BackupOptions", "BackupResult", "Hooks", "SourceSpec", "back_up"]
