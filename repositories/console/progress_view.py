"""How a running operation looks on stderr: a bar on a terminal, plain lines off it, JSON lines, or nothing.

Owns looks alone; events come from the engine child and their paths are shown text already.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from repositories.console.failures import CommandError
from repositories.console.options import AUTO, JSON
from repositories.console.terminal import Terminal
from repositories.engine.display import show_bytes, show_count, show_duration
from repositories.engine.process.protocol import Event, Log, Progress, SourceFinished, SourceStarted, encode_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_SECONDS = 10.0
_COUNTED = {"copying": "backup"} | dict.fromkeys(("planning", "repacking", "waiting", "deleting"), "pack")
_PHASES_OF_RESTORE = frozenset({"restoring", "deleting", "finishing", "verifying"})
NONE = "none"


class ProgressView(Protocol):
    """What an operation is shown with; `close` before anything else is printed."""

    def show(self, event: Event) -> None:
        """Show one event."""
        ...

    def close(self) -> None:
        """Clear what stands on the screen."""
        ...


def choose_view(progress: str, terminal: Terminal, monotonic: Callable[[], float]) -> ProgressView:
    """Return the view that fits --progress, -q and where stderr goes."""
    if progress not in (AUTO, JSON, NONE):
        raise CommandError("--progress takes auto, json or none", hint="give one of them")
    if progress == JSON:
        return JsonView()
    if progress == NONE or terminal.quiet:
        return SilentView()
    return BarView(monotonic) if terminal.has_screen else PlainView(monotonic)


class SilentView:
    """Shows nothing."""

    def show(self, event: Event) -> None:
        """Ignore the event."""

    def close(self) -> None:
        """Do nothing."""


class JsonView:
    """One JSON object a line on stderr, in the engine's own event shape."""

    def show(self, event: Event) -> None:
        """Write the event where it tells how far the operation is."""
        if isinstance(event, Progress | SourceStarted | SourceFinished | Log):
            sys.stderr.buffer.write(encode_line(event))
            sys.stderr.buffer.flush()

    def close(self) -> None:
        """Do nothing."""


class PlainView:
    """A line every ten seconds: for log files and pipes."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._started = monotonic()
        self._next = self._started + LINE_SECONDS

    def show(self, event: Event) -> None:
        """Print a line when it is time for one."""
        if not isinstance(event, Progress) or self._monotonic() < self._next:
            return
        self._next = self._monotonic() + LINE_SECONDS
        elapsed = show_duration(self._monotonic() - self._started)
        sys.stderr.write(f"{event.phase}: {figures(event)} after {elapsed}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Do nothing."""


class BarView:
    """A moving line on a terminal. The library behind it is imported with the first progress, not at the start."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._bar: Bar | None = None

    def show(self, event: Event) -> None:
        """Redraw with the newest figures."""
        if not isinstance(event, Progress):
            return
        if self._bar is None:
            self._bar = _new_bar()
        # A task's fields are drawn as plain text objects: names never pass through anything that reads markup.
        self._bar.update(self._bar.task_ids[0], figures=f"{event.phase}: {figures(event)}", current=event.current)

    def close(self) -> None:
        """Take the line away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def figures(event: Progress) -> str:
    """Return the figures of a progress event in words."""
    done = "written" if event.phase in _PHASES_OF_RESTORE else "read"
    counted = _COUNTED.get(event.phase, "file")
    parts = [f"{show_count(event.files, counted)}", f"{show_bytes(event.bytes_read)} {done}"]
    if event.bytes_stored:
        parts.append(f"{show_bytes(event.bytes_stored)} stored")
    return ", ".join(parts)


def _new_bar() -> "Bar":
    # Heavy, and needed on terminals only.
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TimeElapsedColumn

    from repositories.console.bar_columns import FieldColumn

    bar = Bar(
        SpinnerColumn(),
        TimeElapsedColumn(),
        FieldColumn("figures"),
        FieldColumn("current"),
        console=Console(stderr=True, highlight=False, markup=False, emoji=False),
        transient=True,
    )
    bar.add_task("", total=None, figures="", current="")
    bar.start()
    return bar
