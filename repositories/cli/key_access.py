"""What the key commands share: opening a keychain, where a new password comes from, keys as JSON and as lines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from repositories.cli.arguments import LocationOptions
from repositories.console.passwords import PasswordPlace, read_new_secret, warn_if_public
from repositories.console.repository_access import access
from repositories.console.terminal import Terminal
from repositories.engine.display import show_text, time_field

if TYPE_CHECKING:
    from repositories.engine.keychain import Keychain, KeyFacts

COLUMNS = ("ID", "TYPE", "MADE", "LABEL")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPasswordOptions(LocationOptions):
    """Where a new password comes from; asked for twice on a terminal."""

    new_password_file: Annotated[
        str | None, Option("--new-password-file", metavar="FILE", help="File that holds the new password.")
    ] = None
    new_password_command: Annotated[
        str | None,
        Option("--new-password-command", metavar="COMMAND", help="Program that prints it (run without a shell)."),
    ] = None


def open_keys(location: str, options: LocationOptions, terminal: Terminal) -> "Keychain":
    """Open the repository for changes of its keys."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.keychain import open_keychain
    from repositories.engine.storage.locations import open_storage

    wanted = access(location, options, terminal)
    keys = open_keychain(open_storage(location), wanted.password.encode())
    warn_if_public(wanted.password, terminal)
    return replace(keys, tell=terminal.note)


def read_added(options: NewPasswordOptions, terminal: Terminal) -> bytes:
    """Return the new password."""
    place = PasswordPlace(options.new_password_file, options.new_password_command, insecure=False, prefix="new-")
    return read_new_secret(place, terminal).encode()


def key_fields(key: "KeyFacts") -> dict[str, Any]:
    """Return a key as JSON shows it; nothing of it is secret."""
    return {
        "id": key.id,
        "short_id": key.short_id,
        "role": key.role,
        "label": show_text(key.label),
        "created_at": time_field(key.created_ns),
        "in_use": key.in_use,
    }


def key_name(key: "KeyFacts") -> str:
    """Return a key as one line names it."""
    role = key.role.replace("_", " ")
    label = f" {show_text(key.label)}" if key.label not in ("", role) else ""
    return f"{role}{label} ({key.short_id})"


def key_rows(keys: Sequence["KeyFacts"]) -> list[tuple[str, ...]]:
    """Return the table's rows."""
    return [
        (
            key.short_id,
            key.role.replace("_", " "),
            time_field(key.created_ns),
            show_text(key.label) + (" (opened it now)" if key.in_use else ""),
        )
        for key in keys
    ]
