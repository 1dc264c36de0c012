"""Windows as rows, in the words of the API; each takes what the test cares about."""

from typing import Any

from jobs.models import Window
from jobs.services import WindowInput, window_create
from tests.jobs.builders import NOW

# From an hour before NOW (02:00 on a Monday) to four hours after it.
NIGHT: dict[str, Any] = {"type": "blackout", "start": "01:00", "length_seconds": 5 * 3600}
DAWN = NOW.replace(hour=6)


def make_window(definition: dict[str, Any] | None = None, name: str = "quiet", **fields: Any) -> Window:
    """Return a saved window; the blackout from 01:00 to 06:00 unless told otherwise."""
    new = WindowInput(name, definition or NIGHT, **fields)
    return window_create(new, actor="alice", now=fields.pop("now", NOW)).window
