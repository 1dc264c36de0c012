"""What the key commands share: opening a keychain, where a new password comes from, keys as JSON and as lines.

Owns that keys are not changed in a repository that shows an earlier state: a password that was added to an old copy
would be gone with it, and one that was removed there would still open the true one.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from repositories.cli.arguments import LocationOptions
from repositories.console.options import Option
from repositories.console.passwords import PasswordPlace, read_new_secret, warn_if_public
from repositories.console.repository_access import access, access_to
from repositories.console.terminal import Terminal
from repositories.engine.display import show_text, time_field
from repositories.engine.errors import EngineError

if TYPE_CHECKING:
    from repositories.engine.keychain import BadSlot, Keychain, KeyFacts
    from repositories.engine.process.seen_states import SeenStates, ToldState
    from repositories.engine.repository import Repository

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


def look_at_keys(location: str, options: LocationOptions, terminal: Terminal) -> "Keychain":
    """Open the repository to see its keys; an earlier state than was seen is warned of."""
    return _open(location, options, terminal, writes=False)[0]


@contextlib.contextmanager
def changing_keys(location: str, options: LocationOptions, terminal: Terminal) -> "Iterator[Keychain]":
    """Open the repository for changes of its keys; what was changed is remembered at the end.

    Raises RepositoryRolledBackError where this machine has seen a newer state.
    """
    keys, repository, states = _open(location, options, terminal, writes=True)
    repository.require_writable()
    yield keys
    if states is not None:
        states.note()


def remember_rotation(location: str, secret: str) -> None:
    """Let this machine remember the new keys, so that it knows the old ones when they are shown again.

    The rotation is done: a medium that fails now is left to the next command, which sees the same.
    """
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.process.opening import open_for, watch_states

    opening = access_to(location, secret)
    with contextlib.suppress(EngineError):
        watch_states(opening, open_for(opening))


def _open(
    location: str, options: LocationOptions, terminal: Terminal, *, writes: bool
) -> "tuple[Keychain, Repository, SeenStates | ToldState | None]":
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.keychain import open_keychain
    from repositories.engine.process.opening import storage_of, tell_waits, warn_of_what_is_left, watch_states
    from repositories.engine.repository import Repository

    wanted = access(location, options, terminal)
    tell_waits(terminal.note)
    keys = open_keychain(storage_of(wanted), wanted.password.encode(), without_inventory=not writes)
    warn_if_public(wanted.password, terminal)
    repository = Repository(keys.store, keys.opened.config, keys.clock)
    repository.warn = terminal.engine_warning
    repository.refuse_writing = lost = keys.opened.inventory_lost
    if lost is not None:
        terminal.inventory_lost = True
        warn_of_what_is_left(repository, lost)
    return replace(keys, tell=terminal.note), repository, watch_states(wanted, repository, writes=writes)


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


def bad_key_fields(key: "BadSlot") -> dict[str, Any]:
    """Return a key that cannot be read as JSON shows it."""
    return {"id": key.id, "short_id": key.id[:8], "object": key.name, "unknown_type": key.unknown_type}


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
