"""The closed list of rights that a token or a person can hold (E1), and the groups that are ready-made of them.

Owns their names; decides nothing.
"""

import enum
from collections.abc import Mapping
from typing import Final


class Scope(enum.StrEnum):
    """One right; the value is what clients, tokens and the documentation write."""

    JOBS_READ = "jobs.read"
    JOBS_WRITE = "jobs.write"
    JOBS_RUN = "jobs.run"
    RUNS_READ = "runs.read"
    RUNS_IGNORE_WINDOWS = "runs.ignore_windows"
    WINDOWS_WRITE = "windows.write"
    BACKUPS_READ_CONTENT = "backups.read_content"
    RESTORES_RUN = "restores.run"
    RESTORES_IN_PLACE = "restores.in_place"
    REPOSITORIES_READ = "repositories.read"
    REPOSITORIES_WRITE = "repositories.write"
    AUDIT_READ = "audit.read"


ALL_SCOPES: tuple[str, ...] = tuple(scope.value for scope in Scope)

_VIEWERS = (Scope.JOBS_READ, Scope.RUNS_READ, Scope.REPOSITORIES_READ)
_OPERATORS = (
    *_VIEWERS,
    Scope.JOBS_WRITE,
    Scope.JOBS_RUN,
    Scope.WINDOWS_WRITE,
    Scope.BACKUPS_READ_CONTENT,
    Scope.RESTORES_RUN,
)
# What migration access/0041 makes of these names is the installation's from then on: who changes a group keeps it.
READY_GROUPS: Final[Mapping[str, tuple[Scope, ...]]] = {
    "viewers": _VIEWERS,
    "operators": _OPERATORS,
    "administrators": tuple(Scope),
}
