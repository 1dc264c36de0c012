"""The table of gates, cell by cell (execution.md, section 2), and which reason is told first (C3)."""

from dataclasses import replace

import pytest

from jobs.gates import TABLE, Column, Gate, Held, Rule, Situation, Slots, Use, column_of, counts, held_by
from jobs.states import HeldCode, RunKind, Trigger

OPEN = Situation(
    repository=Use("vault", 0, 1),
    installation=Use("", 0, 16),
    slots=Slots("default", total=4, taken=0, taken_by_others=0),
    sources=(Use("/home", 0, 1),),
)
COLUMNS = (Column.PLANNED, Column.BY_HAND, Column.RESTORE, Column.CHECK, Column.UPKEEP)
# What shuts each gate, the reason, and which columns it holds, in the order of COLUMNS.
CELLS = [
    (Gate.PAUSED, replace(OPEN, job_paused=True), Held(HeldCode.JOB_PAUSED), (True, True, False, False, False)),
    (
        Gate.WINDOW,
        replace(OPEN, window_until="2026-12-01T06:00:00+00:00"),
        Held(HeldCode.WINDOW, "2026-12-01T06:00:00+00:00"),
        (True, True, False, True, True),
    ),
    (Gate.FREEZE, replace(OPEN, frozen=True), Held(HeldCode.FROZEN, "vault"), (True, True, False, False, True)),
    (
        Gate.FREEZE,
        replace(OPEN, repository_ready=False),
        Held(HeldCode.REPOSITORY_NOT_READY, "vault"),
        (True, True, False, False, True),
    ),
    (
        Gate.BREAKER,
        replace(OPEN, breaker_until="12:00"),
        Held(HeldCode.BREAKER, "vault"),
        (True, True, False, True, True),
    ),
    (
        Gate.REPOSITORY,
        replace(OPEN, repository=Use("vault", 1, 1)),
        Held(HeldCode.REPOSITORY_LIMIT, "vault"),
        (True, True, False, False, True),
    ),
    (
        Gate.REPOSITORY,
        replace(OPEN, serial_busy=True),
        Held(HeldCode.SERIAL_GATE, "vault"),
        (True, True, False, False, True),
    ),
    (
        Gate.SOURCE,
        replace(OPEN, sources=(Use("/home", 1, 1),)),
        Held(HeldCode.SOURCE_LIMIT, "/home"),
        (True, True, False, False, False),
    ),
    (
        Gate.SOURCE,
        replace(OPEN, sources=(Use("/home", 0, 1, reserved=True),)),
        Held(HeldCode.SOURCE_RESERVED, "/home"),
        (True, True, False, False, False),
    ),
    (
        Gate.INSTALLATION,
        replace(OPEN, installation=Use("", 16, 16)),
        Held(HeldCode.GLOBAL_LIMIT),
        (True, True, False, True, True),
    ),
    (
        Gate.SLOT,
        replace(OPEN, slots=Slots("default", 4, 4, 2)),
        Held(HeldCode.NO_SLOT, "default"),
        (True, True, True, True, True),
    ),
    (
        Gate.SLOT,
        replace(OPEN, slots=Slots("default", 0, 0, 0)),
        Held(HeldCode.NO_WORKER, "default"),
        (True, True, True, True, True),
    ),
    (
        Gate.SLOT,
        replace(OPEN, slots=Slots("default", 2, 1, 1)),
        Held(HeldCode.RESTORE_SLOT, "default"),
        (True, True, False, True, True),
    ),
    (
        Gate.DEPENDENCY,
        replace(OPEN, dependency=Held(HeldCode.DEPENDENCY, "database")),
        Held(HeldCode.DEPENDENCY, "database"),
        (True, True, False, False, False),
    ),
]
SINGLE = [
    pytest.param(situation, reason, column, holds, id=f"{gate}-{reason.code}-{column}")
    for gate, situation, reason, cells in CELLS
    for column, holds in zip(COLUMNS, cells, strict=True)
]


@pytest.mark.parametrize(("situation", "reason", "column", "holds"), SINGLE)
def test_each_cell(situation: Situation, reason: Held, column: Column, holds: bool) -> None:
    """C2, C3, G2."""
    assert held_by(column, situation) == (reason if holds else None)


def test_every_gate_of_the_table_has_its_cells() -> None:
    assert {gate for gate, *_ in CELLS} == set(TABLE)
    assert all(set(row) == set(COLUMNS) for row in TABLE.values())


@pytest.mark.parametrize("column", COLUMNS)
def test_open_gates_hold_nothing(column: Column) -> None:
    assert held_by(column, OPEN) is None


@pytest.mark.parametrize(
    ("kind", "trigger", "column"),
    [
        (RunKind.BACKUP, Trigger.SCHEDULE, Column.PLANNED),
        (RunKind.BACKUP, Trigger.RETRY, Column.PLANNED),
        (RunKind.BACKUP, Trigger.REQUEUE, Column.PLANNED),
        (RunKind.BACKUP, Trigger.MANUAL, Column.BY_HAND),
        (RunKind.RESTORE, Trigger.MANUAL, Column.RESTORE),
        (RunKind.CHECK, Trigger.MANUAL, Column.CHECK),
        (RunKind.DRILL, Trigger.SCHEDULE, Column.CHECK),
        (RunKind.PRUNE, Trigger.MANUAL, Column.UPKEEP),
        (RunKind.FORGET, Trigger.RETRY, Column.UPKEEP),
        (RunKind.COPY, Trigger.MANUAL, Column.UPKEEP),
    ],
)
def test_the_column_of_a_run(kind: RunKind, trigger: Trigger, column: Column) -> None:
    assert column_of(kind, trigger) is column


def test_every_kind_has_a_column() -> None:
    assert all(column_of(kind, Trigger.SCHEDULE) in COLUMNS for kind in RunKind)


def test_only_what_counts_is_counted() -> None:
    """C2: a restore takes no place of any limit, a check none of its repository."""
    counted = {kind: [gate for gate in TABLE if counts(gate, kind, Trigger.SCHEDULE)] for kind in RunKind}
    assert counted[RunKind.RESTORE] == []
    assert counted[RunKind.CHECK] == [Gate.INSTALLATION]
    assert counted[RunKind.BACKUP] == [Gate.REPOSITORY, Gate.SOURCE, Gate.INSTALLATION]
    assert counted[RunKind.PRUNE] == [Gate.REPOSITORY, Gate.INSTALLATION]


def test_one_slot_in_two_is_kept_for_restores() -> None:
    """A single slot serves whoever comes; of more, the last is a restore's."""
    single = replace(OPEN, slots=Slots("default", 1, 0, 0))
    assert held_by(Column.PLANNED, single) is None
    third = replace(OPEN, slots=Slots("default", 3, 1, 1))
    assert held_by(Column.PLANNED, third) is None
    # A running restore takes a slot, but not one of the backups'.
    beside = replace(OPEN, slots=Slots("default", 3, 2, 1))
    assert held_by(Column.PLANNED, beside) is None


def test_the_gravest_reason_is_told_first() -> None:
    """C3: "frozen" matters more than "wait your turn"."""
    all_shut = replace(
        OPEN,
        frozen=True,
        repository=Use("vault", 1, 1),
        sources=(Use("/home", 1, 1),),
        slots=Slots("default", 0, 0, 0),
    )
    assert held_by(Column.PLANNED, all_shut) == Held(HeldCode.FROZEN, "vault")
    assert held_by(Column.PLANNED, replace(all_shut, frozen=False)) == Held(HeldCode.REPOSITORY_LIMIT, "vault")


def test_refusals_are_the_paused_jobs_alone() -> None:
    refused = {(gate, column) for gate, row in TABLE.items() for column, rule in row.items() if rule is Rule.REFUSED}
    assert refused == {(Gate.PAUSED, Column.PLANNED), (Gate.PAUSED, Column.BY_HAND)}
