"""The gates between waiting and admitted: one table (execution.md, section 2) and one pure function over it.

Owns which gate holds which kind of run, and which reason is told first. Knows no row and no clock: jobs.occupancy
says what is the case, jobs.admission asks.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from jobs.states import HeldCode, RunKind, Trigger


class Gate(enum.StrEnum):
    """The rows of the table."""

    PAUSED = "paused"
    WINDOW = "window"
    FREEZE = "freeze"
    BREAKER = "breaker"
    REPOSITORY = "repository"
    SOURCE = "source"
    INSTALLATION = "installation"
    SLOT = "slot"
    DEPENDENCY = "dependency"


class Column(enum.StrEnum):
    """The columns of the table."""

    PLANNED = "planned"
    BY_HAND = "by_hand"
    RESTORE = "restore"
    CHECK = "check"
    UPKEEP = "upkeep"


class Rule(enum.StrEnum):
    """What a gate does to a run of a column."""

    # Neither held by it nor counted in it.
    FREE = "free"
    # Held while the gate is shut.
    WAITS = "waits"
    # Held while the limit is reached, and counted in it.
    COUNTS = "counts"
    # Refused when it is asked for (409) or never claimed; a run that is there all the same waits.
    REFUSED = "refused"
    # Held until the runner has a free slot.
    NEEDS = "needs"


_P, _H, _R, _C, _U = Column.PLANNED, Column.BY_HAND, Column.RESTORE, Column.CHECK, Column.UPKEEP

# A window that lists checks holds them: `Situation.window_until` is only given where the window applies to the kind.
TABLE: Final[Mapping[Gate, Mapping[Column, Rule]]] = {
    Gate.PAUSED: {_P: Rule.REFUSED, _H: Rule.REFUSED, _R: Rule.FREE, _C: Rule.FREE, _U: Rule.FREE},
    Gate.WINDOW: {_P: Rule.WAITS, _H: Rule.WAITS, _R: Rule.FREE, _C: Rule.WAITS, _U: Rule.WAITS},
    Gate.FREEZE: {_P: Rule.WAITS, _H: Rule.WAITS, _R: Rule.FREE, _C: Rule.FREE, _U: Rule.WAITS},
    Gate.BREAKER: {_P: Rule.WAITS, _H: Rule.WAITS, _R: Rule.FREE, _C: Rule.WAITS, _U: Rule.WAITS},
    Gate.REPOSITORY: {_P: Rule.COUNTS, _H: Rule.COUNTS, _R: Rule.FREE, _C: Rule.FREE, _U: Rule.COUNTS},
    Gate.SOURCE: {_P: Rule.COUNTS, _H: Rule.COUNTS, _R: Rule.FREE, _C: Rule.FREE, _U: Rule.FREE},
    Gate.INSTALLATION: {_P: Rule.COUNTS, _H: Rule.COUNTS, _R: Rule.FREE, _C: Rule.COUNTS, _U: Rule.COUNTS},
    Gate.SLOT: {_P: Rule.NEEDS, _H: Rule.NEEDS, _R: Rule.NEEDS, _C: Rule.NEEDS, _U: Rule.NEEDS},
    Gate.DEPENDENCY: {_P: Rule.WAITS, _H: Rule.WAITS, _R: Rule.FREE, _C: Rule.FREE, _U: Rule.FREE},
}

_KIND_COLUMNS: Final[Mapping[RunKind, Column]] = {
    RunKind.RESTORE: Column.RESTORE,
    RunKind.CHECK: Column.CHECK,
    RunKind.DRILL: Column.CHECK,
    RunKind.PRUNE: Column.UPKEEP,
    RunKind.FORGET: Column.UPKEEP,
    # A copy writes to a repository like a backup, but belongs to no job.
    RunKind.COPY: Column.UPKEEP,
}


@dataclass(frozen=True, slots=True)
class Use:
    """How much of a limit is taken; `subject` names whose limit it is."""

    subject: str
    taken: int
    limit: int
    # A run that has waited long for it keeps it from those behind.
    reserved: bool = False

    @property
    def full(self) -> bool:
        """Whether nothing is left of it."""
        return self.taken >= self.limit


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of a runner: those of live processes, all taken ones, and those that no restore takes."""

    group: str
    total: int
    taken: int
    taken_by_others: int


@dataclass(frozen=True, slots=True)
class Held:
    """Why a run waits; stored as it is, the sentence is made when it is read."""

    code: HeldCode
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is the case for one waiting run. What shuts no gate is empty or None."""

    repository: Use
    installation: Use
    slots: Slots
    sources: tuple[Use, ...] = ()
    job_paused: bool = False
    frozen: bool = False
    repository_ready: bool = True
    serial_busy: bool = False
    window_until: str = ""
    breaker_until: str = ""
    dependency: Held | None = None


def column_of(kind: RunKind, trigger: Trigger) -> Column:
    """Return the column of a run: a backup by hand differs from one that was planned, retried or queued again."""
    if kind is RunKind.BACKUP:
        return Column.BY_HAND if trigger is Trigger.MANUAL else Column.PLANNED
    return _KIND_COLUMNS[kind]


def counts(gate: Gate, kind: RunKind, trigger: Trigger) -> bool:
    """Tell whether a run takes a place of this limit while it is admitted or running."""
    return TABLE[gate][column_of(kind, trigger)] is Rule.COUNTS


def is_held_by(gate: Gate, kind: RunKind, trigger: Trigger) -> bool:
    """Tell whether this gate concerns such a run at all."""
    return TABLE[gate][column_of(kind, trigger)] is not Rule.FREE


def held_by(column: Column, now: Situation) -> Held | None:
    """Return the first gate that holds a run of `column`, None when it may start."""
    return _shut(column, now) or _full(column, now) or _without_slot(column, now.slots)


def _shut(column: Column, now: Situation) -> Held | None:
    """What no limit has a say in: the gravest first."""
    for ask in _SHUT_BY[column]:
        held = ask(now)
        if held is not None:
            return held
    return None


def _full(column: Column, now: Situation) -> Held | None:
    for ask in _FULL_BY[column]:
        held = ask(now)
        if held is not None:
            return held
    return None


def _paused(now: Situation) -> Held | None:
    return Held(HeldCode.JOB_PAUSED) if now.job_paused else None


def _frozen(now: Situation) -> Held | None:
    if now.frozen:
        return Held(HeldCode.FROZEN, now.repository.subject)
    return None if now.repository_ready else Held(HeldCode.REPOSITORY_NOT_READY, now.repository.subject)


def _outside_windows(now: Situation) -> Held | None:
    return Held(HeldCode.WINDOW, now.window_until) if now.window_until else None


def _dependent(now: Situation) -> Held | None:
    return now.dependency


def _broken(now: Situation) -> Held | None:
    return Held(HeldCode.BREAKER, now.repository.subject) if now.breaker_until else None


def _installation_full(now: Situation) -> Held | None:
    return Held(HeldCode.GLOBAL_LIMIT) if now.installation.full else None


def _repository_full(now: Situation) -> Held | None:
    if now.serial_busy:
        return Held(HeldCode.SERIAL_GATE, now.repository.subject)
    return Held(HeldCode.REPOSITORY_LIMIT, now.repository.subject) if now.repository.full else None


def _source_full(now: Situation) -> Held | None:
    for source in now.sources:
        if source.full:
            return Held(HeldCode.SOURCE_LIMIT, source.subject)
        if source.reserved:
            return Held(HeldCode.SOURCE_RESERVED, source.subject)
    return None


def _without_slot(column: Column, slots: Slots) -> Held | None:
    if slots.total == 0:
        return Held(HeldCode.NO_WORKER, slots.group)
    if slots.taken >= slots.total:
        return Held(HeldCode.NO_SLOT, slots.group)
    # Where there are two or more, one is kept: a restore is never blocked by a night's backups.
    if column is not Column.RESTORE and slots.total >= 2 and slots.taken_by_others >= slots.total - 1:
        return Held(HeldCode.RESTORE_SLOT, slots.group)
    return None


_Ask = Callable[[Situation], Held | None]
_SHUT: Final[Mapping[Gate, _Ask]] = {
    Gate.PAUSED: _paused,
    Gate.FREEZE: _frozen,
    Gate.WINDOW: _outside_windows,
    Gate.DEPENDENCY: _dependent,
    Gate.BREAKER: _broken,
}
_FULL: Final[Mapping[Gate, _Ask]] = {
    Gate.REPOSITORY: _repository_full,
    Gate.SOURCE: _source_full,
    Gate.INSTALLATION: _installation_full,
}
# By column, since thousands of waiting runs ask in each pass: only the gates that concern them, in their order.
_SHUT_BY: Final = {
    column: tuple(ask for gate, ask in _SHUT.items() if TABLE[gate][column] is not Rule.FREE) for column in Column
}
_FULL_BY: Final = {
    column: tuple(ask for gate, ask in _FULL.items() if TABLE[gate][column] is Rule.COUNTS) for column in Column
}
