"""From rounds to what is shown: medians, ratios, a table and the object of --json. Computes only."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.benchmarks.measuring import Taken
from tests.benchmarks.rounds import Result
from tests.benchmarks.tools import STEPS, SYNCOVA

HEAD = ("step", "tool", "wall s", "cpu s", "peak MiB", "stored MiB", "x wall", "x cpu")
_FIGURES = ("wall_seconds", "cpu_seconds", "peak_bytes")
_MIB = 1 << 20

Rounds = Sequence[Mapping[str, Result]]


def summarise(rounds: Rounds) -> list[dict[str, Any]]:
    """Return one row for each step and tool.

    Figures are medians over the rounds in which the tool came so far. A ratio is the median of each round's own: how
    many times as much as ours the tool took.
    """
    return [
        _row(step, tool, rounds)
        for step in STEPS
        for tool in rounds[0]
        if any(step in each[tool].taken for each in rounds)
    ]


def failures(rounds: Rounds) -> dict[str, str]:
    """Return why a tool ended before its last step, by tool; the first time it did."""
    told: dict[str, str] = {}
    for number, each in enumerate(rounds, start=1):
        for tool, result in each.items():
            if result.failure:
                told.setdefault(tool, f"round {number}, {result.failure}")
    return told


def cells(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield the rows as text, for the columns of HEAD."""
    before = ""
    for row in rows:
        step = "" if row["step"] == before else row["step"]
        before = row["step"]
        yield (
            step,
            row["tool"],
            f"{row['wall_seconds']:.2f}",
            f"{row['cpu_seconds']:.2f}",
            f"{row['peak_bytes'] / _MIB:.0f}",
            *_optional(row, {"stored_bytes": lambda value: f"{value / _MIB:.1f}"}),
            *_optional(row, dict.fromkeys(("wall_ratio", "cpu_ratio"), lambda value: f"{value:.2f}")),
        )


def _optional(row: Mapping[str, Any], shown: Mapping[str, Any]) -> Iterator[str]:
    for name, show in shown.items():
        yield "" if row[name] is None else show(row[name])


def _row(step: str, tool: str, rounds: Rounds) -> dict[str, Any]:
    taken = [each[tool].taken[step] for each in rounds if step in each[tool].taken]
    stored = [each[tool].stored[step] for each in rounds if step in each[tool].stored]
    return {
        "step": step,
        "tool": tool,
        "rounds": [{name: getattr(each, name) for name in _FIGURES} for each in taken],
        **{name: statistics.median(getattr(each, name) for each in taken) for name in _FIGURES},
        "stored_bytes": statistics.median(stored) if stored else None,
        "wall_ratio": _ratio(step, tool, rounds, "wall_seconds"),
        "cpu_ratio": _ratio(step, tool, rounds, "cpu_seconds"),
    }


def _ratio(step: str, tool: str, rounds: Rounds, figure: str) -> float | None:
    if tool == SYNCOVA:
        return None
    pairs = [
        (each[tool].taken[step], each[SYNCOVA].taken[step])
        for each in rounds
        if step in each[tool].taken and SYNCOVA in each and step in each[SYNCOVA].taken
    ]
    return statistics.median(_quotient(theirs, ours, figure) for theirs, ours in pairs) if pairs else None


def _quotient(theirs: Taken, ours: Taken, figure: str) -> float:
    return float(getattr(theirs, figure)) / max(float(getattr(ours, figure)), 1e-9)
