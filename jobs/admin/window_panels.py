"""What the page of a window shows: when it is open next, what it moves, whose objective it breaks. Reads alone."""

from typing import Final

from jobs.database_time import database_now
from jobs.models import Window
from jobs.poison import POISON
from jobs.window_preview import WindowPreview, window_preview
from jobs.window_rows import rule_of
from syncova_project.admin_pages.pages import address_of
from syncova_project.admin_pages.panels import Panel, link, row

OPENINGS: Final = 5


def window_panels(window: Window) -> list[Panel]:
    """Return the preview of a window as it is saved; of one that cannot be evaluated, that alone."""
    try:
        preview = window_preview(rule_of(window), OPENINGS, replaces=window.pk, now=database_now())
    except POISON as error:
        return [Panel("openings", "Preview", note=f"It cannot be evaluated, and holds nothing: {error}")]
    return [_openings(preview), _moved(preview), _broken(preview)]


def _openings(preview: WindowPreview) -> Panel:
    shown = [row(one.start, one.end) for one in preview.openings]
    note = "" if shown else "None within the next 400 days."
    return Panel("openings", "Next openings", ("begins", "ends"), shown, note)


def _moved(preview: WindowPreview) -> Panel:
    shown = [
        row(
            link(one.job.name, address_of("jobs.job", one.job.pk)),
            one.planned,
            one.starts_at or "none within 31 days",
        )
        for one in preview.moved
    ]
    note = "" if shown else "It moves no start."
    return Panel("moved", "What it moves", ("job", "planned", "starts"), shown, note)


def _broken(preview: WindowPreview) -> Panel:
    shown = [row(name) for name in preview.broken]
    note = "" if shown else "Every job can keep its own."
    return Panel("broken", "Objectives that cannot be kept with it", ("job",), shown, note)
