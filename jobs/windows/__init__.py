"""Maintenance windows: when runs may start, pure, with no database and no clock (B7, B8; execution.md, section 4).

This is the front door: parse what the API takes, ask what shuts an instant and which one is free next.
"""

from jobs.windows.free import REACH, Answer, Block, BlockCode, block_at, next_free
from jobs.windows.gaps import NEVER, widest_gap
from jobs.windows.parsing import WindowInvalidError, definition_of, parse, parse_all
from jobs.windows.rules import Level, Rule, applicable
from jobs.windows.shapes import MAX_LENGTH, OneOff, Opening, Recurring, Shape
from jobs.windows.stretches import Stretch, shut_stretches

__all__ = [
    "MAX_LENGTH",
    "NEVER",
    "REACH",
    "Answer",
    "Block",
    "BlockCode",
    "Level",
    "OneOff",
    "Opening",
    "Recurring",
    "Rule",
    "Shape",
    "Stretch",
    "WindowInvalidError",
    "applicable",
    "block_at",
    "definition_of",
    "next_free",
    "parse",
    "parse_all",
    "shut_stretches",
    "widest_gap",
]
