"""Pruning: giving back the room of what no backup uses, beside running backups, and never anything more.

Owns the plan and its execution. What is deleted was decided by tombstones before; rules are in
docs/repository-format.md, section 7.
"""

from repositories.engine.prune.report import PackUse, PrunePlan, PruneReport, PruneRequest
from repositories.engine.prune.run import prune

__all__ = ["PackUse", "PrunePlan", "PruneReport", "PruneRequest", "prune"]
