"""`./syncova ctl window list | show | preview | delete`."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.names import find_window
from jobs.ctl.questions import confirm
from jobs.ctl.server import find_server
from jobs.ctl.window_words import body_of, level_of, tell_preview, tell_window, times_of
from repositories.console import exits
from repositories.console.options import OutputOptions
from repositories.console.terminal import terminal_of
from repositories.engine.display import show_text


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions(OutputOptions):
    """A verb on one window."""

    window: Annotated[str, Argument(metavar="WINDOW", help="Its name or id.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions(WindowOptions):
    """What `window preview` takes."""

    limit: Annotated[int, Option("--limit", metavar="N", min=1, max=100, help="At most so many openings.")] = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions(WindowOptions):
    """What `window delete` takes."""

    yes: Annotated[bool, Option("--yes", "-y", help="Don't ask.")] = False


class List:
    """Lists windows by name."""

    NAME = "list"
    HELP = "List the windows: what they hold, where, and when."
    EXAMPLES = ("list", "list --json")
    Options = OutputOptions

    @staticmethod
    def run(options: OutputOptions) -> int:
        """Print the list."""
        terminal, api = terminal_of(options), Api(find_server())
        windows = list(api.every("windows", "windows", {"limit": 200}))
        if windows:
            terminal.columns(("NAME", "KIND", "OF", "WHEN", "HOLDS"), [_row(api, one) for one in windows])
        else:
            terminal.line("no windows")
        terminal.document({"windows": windows})
        return exits.DONE


class Show:
    """Shows one window."""

    NAME = "show"
    HELP = "Show a window."
    EXAMPLES = ("show 'office hours'",)
    Options = WindowOptions

    @staticmethod
    def run(options: WindowOptions) -> int:
        """Print it."""
        terminal, api = terminal_of(options), Api(find_server())
        window = find_window(api, options.window)
        tell_window(terminal, api, window)
        terminal.document(window)
        return exits.DONE


class Preview:
    """Shows what a window does."""

    NAME = "preview"
    HELP = "Show when a window is open next, and which planned runs it moves to when."
    EXAMPLES = ("preview 'office hours'",)
    Options = PreviewOptions

    @staticmethod
    def run(options: PreviewOptions) -> int:
        """Print it."""
        terminal, api = terminal_of(options), Api(find_server())
        window = find_window(api, options.window)
        asked = {"replaces": window["id"], "count": options.limit}
        preview = api.post("windows/preview", body_of(window) | asked)
        tell_preview(terminal, preview)
        terminal.document(preview)
        return exits.DONE


class Delete:
    """Deletes a window."""

    NAME = "delete"
    HELP = "Delete a window. What it held may start at once."
    EXAMPLES = ("delete 'office hours' --yes",)
    Options = DeleteOptions

    @staticmethod
    def run(options: DeleteOptions) -> int:
        """Delete it once the person is sure."""
        terminal, api = terminal_of(options), Api(find_server())
        window = find_window(api, options.window)
        if not options.yes:
            confirm(f"Delete the window {show_text(window['name'])}? What it holds may start at once.", "--yes")
        api.delete(f"windows/{window['id']}")
        terminal.line(f"deleted {show_text(window['name'])}")
        terminal.document({"id": window["id"], "deleted": True})
        return exits.DONE


def _row(api: Api, window: Json) -> tuple[str, ...]:
    return (
        show_text(window["name"]),
        window["type"],
        level_of(api, window),
        times_of(window),
        shapes.text(", ".join(window["kinds"])),
    )
