"""`syncova-repo key remove`: a password or recovery code that opens the repository no more."""

from dataclasses import dataclass
from typing import Annotated

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.cli.key_access import bad_key_fields, changing_keys, key_fields, key_name
from repositories.console import exits
from repositories.console.options import Argument, Option
from repositories.console.repository_access import split_location
from repositories.console.terminal import terminal_of

NAME = "remove"
HELP = (
    "Remove a password or recovery code by its label or the beginning of its id (key list shows both); never the last "
    "one. Who knew it may have kept what it opens: if it leaked, use key rotate. " + LOCATION_RULE
)
EXAMPLES = ("remove /mnt/backups/home laptop", "remove -r /mnt/backups/home 3fa2b1c0 --json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LocationOptions):
    """What `key remove` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] LABEL|ID", hidden=True)] = ()
    yes: Annotated[bool, Option("--yes", help="Also the one that opens the repository now, or a damaged one.")] = False


def run(options: Options) -> int:
    """Remove the key."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.keychain import BadSlot, remove_key

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options, most=1)
    (wanted,) = expect(rest, ("LABEL or ID",))
    with changing_keys(location, options, terminal) as keys:
        removed = remove_key(keys, wanted, sure=options.yes)
    if isinstance(removed, BadSlot):
        terminal.line(f"removed damaged key {removed.id[:8]}")
        terminal.document({"removed": bad_key_fields(removed)})
        return exits.DONE
    terminal.line(f"removed {key_name(removed)}")
    terminal.document({"removed": key_fields(removed)})
    return exits.DONE
