"""`syncova-repo info`: what a repository is and how much it holds."""

from typing import Any

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.console.repository_access import exit_code_of, open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count

NAME = "info"
HELP = f"Show what a repository is: keys, backups, size. {LOCATION_RULE}"
EXAMPLES = ("info /mnt/backups/home", "info -r /mnt/backups/home --json")
Options = LocationOptions


def run(options: LocationOptions) -> int:
    """Print the facts; a lost inventory ends with 13."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.process.describe import repository_fields

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    facts = repository_fields(open_here(location, options, terminal, in_part=True))
    _print(terminal, facts)
    terminal.document(facts)
    return exit_code_of(terminal)


def _print(terminal: Terminal, facts: dict[str, Any]) -> None:
    terminal.table(
        [
            ("repository", facts["repository_id"]),
            ("made", facts["created_at"]),
            ("format", f"{facts['format']}{'' if facts['writable'] else ' (this version can only read it)'}"),
            ("padding", "yes" if facts["padding"] else "no"),
            ("backups", _backups(facts)),
            ("packs", f"{facts['packs']:,}, {show_bytes(facts['pack_bytes'])}"),
            ("all objects", f"{facts['objects']:,}, {show_bytes(facts['bytes'])}"),
            ("free", "unknown" if facts["free_bytes"] is None else show_bytes(facts["free_bytes"])),
        ]
    )
    if facts["packs_of_older_keys"]:
        terminal.line(
            f"keys: generation {facts['keyring_generation']}; still under older keys: "
            f"{show_count(facts['packs_of_older_keys'], 'pack')}, {show_bytes(facts['pack_bytes_of_older_keys'])}"
        )
    for key in facts["keys"]:
        role = key["role"].replace("_", " ")
        label = f" {key['label']}" if key["label"] not in ("", role) else ""
        terminal.line(f"key: {role}{label}, made {key['created_at']}")
    for each in facts["unfinished"]:
        terminal.line(
            f"unfinished: {each['source']}, {show_count(each['entries'], 'entry')} until {each['time']}; "
            "the next backup of this source goes on from there"
        )
    for name in facts["damaged_manifests"]:
        terminal.warning(f"{name} is damaged in both copies: that backup is lost")
    if facts["damaged_keys"]:
        terminal.line(f"damaged keys: {facts['damaged_keys']}")


def _backups(facts: dict[str, Any]) -> str:
    deleted = f", {facts['deleted_backups']:,} deleted and not yet pruned" if facts["deleted_backups"] else ""
    return f"{facts['backups']:,} of {show_count(len(facts['sources']), 'source')}{deleted}"
