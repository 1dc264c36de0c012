"""`syncova-repo key list`: the passwords and recovery codes that open a repository, by label."""

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.cli.key_access import COLUMNS, bad_key_fields, key_fields, key_rows, look_at_keys
from repositories.console.repository_access import exit_code_of, split_location
from repositories.console.terminal import terminal_of

NAME = "list"
HELP = f"List what opens a repository: passwords and recovery codes by label, never a secret. {LOCATION_RULE}"
EXAMPLES = ("list /mnt/backups/home", "list -r /mnt/backups/home --json")
Options = LocationOptions


def run(options: LocationOptions) -> int:
    """Print the keys, oldest first; a lost inventory ends with 13."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.keychain import list_bad_keys, list_keys

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    opened = look_at_keys(location, options, terminal)
    keys, damaged = list_keys(opened)
    terminal.columns(COLUMNS, key_rows(keys))
    bad = [bad_key_fields(key) for key in list_bad_keys(opened)] if damaged else []
    for key in bad:
        state = "of a type that is not known here" if key["unknown_type"] else "damaged in all copies"
        terminal.warning(
            f"key {key['short_id']} is {state}: bring {key['object']} back from a copy of the repository; if there is "
            f"none: syncova-repo key remove LOCATION {key['short_id']} --yes"
        )
    terminal.document(
        {
            "generation": opened.generation,
            "keys": [key_fields(key) for key in keys],
            "damaged_keys": len(bad),
            "damaged": bad,
        }
    )
    return exit_code_of(terminal)
