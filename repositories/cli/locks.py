"""`syncova-repo locks`: who works on a repository, and whether they live."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.console.options import Option
from repositories.console.repository_access import exit_code_of, open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_time, time_field

if TYPE_CHECKING:
    from repositories.engine.overview.locks import SessionView

NAME = "locks"
HELP = (
    "Show who works on a repository: since when, and whether they live. There is nothing to unlock: backups, checks "
    "and restores wait for nobody, and a prune waits only for those that live and clears the dead away. --watch finds "
    f"out about those on other machines. {LOCATION_RULE}"
)
EXAMPLES = ("locks /mnt/backups/home", "locks -r /mnt/backups/home --watch --json")
_WATCH_SECONDS = 310.0
_COLUMNS = ("SINCE", "WORK", "STATE", "PROCESS", "HOST", "WHY")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LocationOptions):
    """What `locks` takes."""

    watch: Annotated[
        bool, Option("--watch", help="Watch for up to 5 minutes, until it is known of each whether it lives.")
    ] = False


def run(options: Options) -> int:
    """Print the sessions; none, living or dead ones are no error. A lost inventory ends with 13."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.clock import SYSTEM_CLOCK
    from repositories.engine.overview.locks import sessions

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    repository = open_here(location, options, terminal, in_part=True)
    found = sessions(repository, SYSTEM_CLOCK, _WATCH_SECONDS if options.watch else 0.0)
    _print(terminal, found)
    terminal.document({"sessions": [_fields(each) for each in found]})
    return exit_code_of(terminal)


def _print(terminal: Terminal, found: "list[SessionView]") -> None:
    if not found:
        terminal.line("nobody works on this repository")
        return
    terminal.columns(_COLUMNS, map(_row, found))
    dead = sum(each.state == "dead" for each in found)
    if dead:
        terminal.note("the dead hold up nothing; the next prune clears them away")
    if any(each.state == "unknown" for each in found):
        terminal.note("--watch finds out about the unknown; a prune does that by itself")


def _row(view: "SessionView") -> tuple[str, ...]:
    since = "unknown" if view.started_ns is None else show_time(view.started_ns)
    process = "unknown" if view.pid is None else str(view.pid)
    return since, view.purpose, view.state, process, view.host or "unknown", view.why


def _fields(view: "SessionView") -> dict[str, Any]:
    return {
        "session_id": view.session_id,
        "purpose": view.purpose,
        "state": view.state,
        "why": view.why,
        "host": view.host,
        "pid": view.pid,
        "since": None if view.started_ns is None else time_field(view.started_ns),
        "fence": view.fence,
    }
