"""`syncova-repo key add`: one more password that opens a repository."""

from dataclasses import dataclass
from typing import Annotated

from repositories.cli.arguments import LOCATION_RULE, expect
from repositories.cli.key_access import NewPasswordOptions, changing_keys, key_fields, key_name, read_added
from repositories.console import exits
from repositories.console.options import Option
from repositories.console.repository_access import split_location
from repositories.console.terminal import terminal_of

NAME = "add"
HELP = f"Add a password; those that there are stay. It is asked for twice on a terminal. {LOCATION_RULE}"
EXAMPLES = (
    "add /mnt/backups/home --new-password-file ~/laptop-password --label laptop",
    "add -r /mnt/backups/home --label desk --new-password-command 'pass show backup/desk' --json",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(NewPasswordOptions):
    """What `key add` takes."""

    label: Annotated[str | None, Option("--label", metavar="NAME", help="Name of the new password, in clear.")] = None


def run(options: Options) -> int:
    """Add the password; it opens the repository when this ends."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.keychain import add_password

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    with changing_keys(location, options, terminal) as keys:
        added = add_password(keys, read_added(options, terminal), options.label or "")
    terminal.line(f"added {key_name(added)}")
    terminal.document({"added": key_fields(added)})
    return exits.DONE
