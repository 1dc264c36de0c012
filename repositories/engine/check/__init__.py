"""Checking a repository: whether everything that the backups need is there and unharmed.

Owns the checks and their report. Writes nothing but the memory of what was found.
"""

from repositories.engine.check.report import CheckProblem, CheckReport, CheckRequest, HurtBackup, Proof
from repositories.engine.check.run import check

__all__ = ["CheckProblem", "CheckReport", "CheckRequest", "HurtBackup", "Proof", "check"]
