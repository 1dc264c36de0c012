"""Whether an instant is free for a start, what shuts it, and which instant is free next (B7, B8).

Owns the rule: free means that no blackout covers it and that each level with allowed windows has one open.
"""

import datetime as dt
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jobs.states import WindowKind
from jobs.windows.rules import Level, Rule

REACH: Final = dt.timedelta(days=31)


class BlockCode(enum.StrEnum):
    """How an instant is shut."""

    BLACKOUT = "blackout"
    NOT_ALLOWED = "not_allowed"


@dataclass(frozen=True, slots=True)
class Block:
    """What shuts an instant: a blackout, or allowed windows none of which is open; `name` is that of the window."""

    code: BlockCode
    name: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The first free instant at or after the one asked for, None: there is none within the reach.

    `block` is what shut the instant asked for; None exactly when that one was free.
    """

    instant: dt.datetime | None
    block: Block | None


def block_at(rules: Sequence[Rule], instant: dt.datetime) -> Block | None:
    """Return what shuts `instant`, None when a run may start then."""
    return next_free(rules, instant, dt.timedelta(0)).block


def next_free(rules: Sequence[Rule], instant: dt.datetime, reach: dt.timedelta = REACH) -> Answer:
    """Return the first free instant in [instant, instant + reach].

    `rules` are those that apply to the run. Each step goes to the edge of an opening, so the answer is exact to the
    microsecond and takes at most as many steps as there are openings within the reach.
    """
    first: Block | None = None
    at: dt.datetime | None = instant
    until = instant + reach
    while at is not None and at <= until:
        obstacle = next(_obstacles(rules, at, until), None)
        if obstacle is None:
            return Answer(at, first)
        block, at = obstacle
        first = first or block
    return Answer(None, first)


def _obstacles(
    rules: Sequence[Rule], at: dt.datetime, until: dt.datetime
) -> Iterator[tuple[Block, dt.datetime | None]]:
    """Yield what shuts `at`, each with the first instant at which it may be gone, None: not within the reach."""
    for rule in rules:
        opening = rule.shape.covering(at) if rule.kind is WindowKind.BLACKOUT else None
        if opening is not None:
            yield Block(BlockCode.BLACKOUT, rule.name), opening.end
    for level in Level:
        allowed = [rule for rule in rules if rule.kind is WindowKind.ALLOWED and rule.level is level]
        if allowed and all(rule.shape.covering(at) is None for rule in allowed):
            starts = [(start, rule.name) for rule in allowed if (start := rule.shape.next_start(at, until))]
            yield (
                Block(BlockCode.NOT_ALLOWED, min(starts)[1] if starts else allowed[0].name),
                min(starts)[0] if starts else None,
            )
