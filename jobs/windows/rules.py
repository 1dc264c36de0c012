"""Windows as rules about runs: what kind of window, at which level, for which kinds of runs (B7).

Owns which rules apply to a run. An allowed window of one job says nothing about another (B8).
"""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.states import RunKind, WindowKind
from jobs.windows.shapes import Shape


class Level(enum.StrEnum):
    """Whose window it is. Each level that has allowed windows must be open by one of its own."""

    INSTALLATION = "installation"
    REPOSITORY = "repository"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Rule:
    """One window; `owner` is the id of its repository or job, "" for the installation."""

    name: str
    kind: WindowKind
    kinds: frozenset[RunKind]
    shape: Shape
    level: Level = Level.INSTALLATION
    owner: str = ""


def applicable(rules: Iterable[Rule], kind: RunKind, *, repository: str = "", job: str = "") -> Sequence[Rule]:
    """Return the rules that say something about a run of `kind` on this repository and of this job."""
    owners = {Level.INSTALLATION: "", Level.REPOSITORY: repository, Level.JOB: job}
    # A restore starts whatever a window says: who needs data back has no time to wait (execution.md, section 2).
    if kind is RunKind.RESTORE:
        return ()
    return tuple(rule for rule in rules if kind in rule.kinds and rule.owner == owners[rule.level])
