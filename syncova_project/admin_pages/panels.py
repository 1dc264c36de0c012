"""Panels: tables that a page shows beside the fields of its row. Owns their form and how a value becomes text.

All text is plain: control and direction characters are escaped here, markup by the template. No row is read here.
"""

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from syncova_project.log import single_line

EMPTY: Final = "-"


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, and the address within this server that it leads to ("": none)."""

    text: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A titled table; `note` stands below it, and alone where there are no rows. `anchor` names it on its page."""

    anchor: str
    title: str
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    note: str = ""
    more: Cell | None = None


def row(*values: object) -> list[Cell]:
    """Return a row of cells; what is a cell already stays as it is."""
    return [value if isinstance(value, Cell) else Cell(plain(value)) for value in values]


def rows(lines: Iterable[Sequence[object]]) -> list[list[Cell]]:
    """Return rows of cells."""
    return [row(*line) for line in lines]


def link(value: object, address: str) -> Cell:
    """Return a cell that leads to an address."""
    return Cell(plain(value), address)


def plain(value: object) -> str:
    """Return any value as one harmless line: moments to the second in UTC, nothing as a dash."""
    if value is None or value == "" or value == {}:
        return EMPTY
    if isinstance(value, dt.datetime):
        return f"{value.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return single_line(text)
