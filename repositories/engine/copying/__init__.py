"""Copying backups from one repository to another: verified, resumable, keeping id and origin.

Owns the operation. A copy is committed as every backup is (docs/repository-format.md, sections 7 and 9).
"""

from repositories.engine.copying.request import CopiedBackup, CopyReport, CopyRequest, FailedCopy
from repositories.engine.copying.run import copy_backups

__all__ = ["CopiedBackup", "CopyReport", "CopyRequest", "FailedCopy", "copy_backups"]
