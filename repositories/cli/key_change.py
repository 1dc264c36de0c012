"""`syncova-repo key change`: a new password instead of the one that opened the repository."""

from repositories.cli.arguments import LOCATION_RULE, expect
from repositories.cli.key_access import NewPasswordOptions, changing_keys, key_fields, key_name, read_added
from repositories.console import exits
from repositories.console.repository_access import split_location
from repositories.console.terminal import terminal_of

NAME = "change"
HELP = (
    "Give the password that opens the repository now a successor; the label stays. The new one opens before the old "
    f"one ends. A password that others may know needs key rotate besides. {LOCATION_RULE}"
)
EXAMPLES = (
    "change /mnt/backups/home --password-file ~/old --new-password-file ~/new",
    "change -r /mnt/backups/home --new-password-command 'pass show backup/home' --json",
)
Options = NewPasswordOptions


def run(options: NewPasswordOptions) -> int:
    """Change the password."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.keychain import change_password

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    with changing_keys(location, options, terminal) as keys:
        changed = change_password(keys, read_added(options, terminal))
    terminal.line(f"changed {key_name(changed)}")
    terminal.document({"changed": key_fields(changed)})
    return exits.DONE
