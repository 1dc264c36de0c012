"""`syncova-repo key list`: the passwords and recovery codes that open a repository, by label."""

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.cli.key_access import COLUMNS, key_fields, key_rows, look_at_keys
from repositories.console.repository_access import exit_code_of, split_location
from repositories.console.terminal import terminal_of

NAME = "list"
HELP = f"List what opens a repository: passwords and recovery codes by label, never a secret. {LOCATION_RULE}"
EXAMPLES = ("list /mnt/backups/home", "list -r /mnt/backups/home --json")
Options = LocationOptions


def run(options: LocationOptions) -> int:
    """Print the keys, oldest first; a lost inventory ends with 13."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.keychain import list_keys

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    opened = look_at_keys(location, options, terminal)
    keys, damaged = list_keys(opened)
    terminal.columns(COLUMNS, key_rows(keys))
    if damaged:
        terminal.warning(f"damaged or of an unknown type: {damaged}")
    terminal.document(
        {"generation": opened.generation, "keys": [key_fields(key) for key in keys], "damaged_keys": damaged}
    )
    return exit_code_of(terminal)
