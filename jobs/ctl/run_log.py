"""A run's log on a terminal: all lines that are there, and with `follow` those that come until the run has ended.

Reads pages: a live stream would hold one of the server's few places for as long as somebody looks on.
"""

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.patience import looks
from jobs.ctl.run_page import ENDS
from repositories.console.terminal import Terminal
from repositories.engine.display import show_text

_PAGE = 1000


def print_log(terminal: Terminal, api: Api, run: str, *, follow: bool) -> tuple[list[Json], bool]:
    """Print the log of the run at this path; return its lines and whether later ones were dropped."""
    lines: list[Json] = []
    waiting = iter(looks())
    while True:
        # Before its lines: a run that has ended writes no more.
        goes_on = follow and api.get(run)["state"] not in ENDS
        truncated = _print_new(terminal, api, run, lines)
        if not goes_on:
            return lines, truncated
        next(waiting)


def _print_new(terminal: Terminal, api: Api, run: str, lines: list[Json]) -> bool:
    while True:
        page = api.get(f"{run}/log", {"after": lines[-1]["number"] if lines else 0, "limit": _PAGE})
        for line in page["lines"]:
            terminal.line(f"{shapes.moment(line['at'])}  {show_text(line['level'])}  {show_text(line['message'])}")
        lines += page["lines"]
        if len(page["lines"]) < _PAGE:
            return bool(page["truncated"])
