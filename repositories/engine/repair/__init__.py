"""Repairing a repository: what is hurt is written again from what is whole, what is bad is set aside.

Owns the repairs and their report. Deletes nothing of which there is no other copy.
"""

from repositories.engine.repair.aside import AsideObject, list_aside, remove_aside
from repositories.engine.repair.report import RepairReport, RepairRequest, RepairStep
from repositories.engine.repair.run import repair

__all__ = [
    "AsideObject",
    "RepairReport",
    "RepairRequest",
    "RepairStep",
    "list_aside",
    "remove_aside",
    "repair",
]
