"""From options to a repository: which location, which secret, and opening it in this process.

Owns the rule that -r or SYNCOVA_REPOSITORY replaces LOCATION. Long operations don't open it here: they hand
the same access to an engine child.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from repositories.console import exits
from repositories.console.failures import CommandError, LocationMissingError
from repositories.console.options import RepositoryOptions
from repositories.console.passwords import read_password, warn_if_public
from repositories.console.paths import absolute
from repositories.console.storage_credentials import credentials_for, with_region
from repositories.console.terminal import Terminal
from repositories.engine.display import show_text
from repositories.engine.errors import InventoryLostError
from repositories.engine.process.requests import RepositoryAccess
from repositories.engine.storage.locations import parse_location
from repositories.engine.storage.remote_locations import is_remote
from syncova_project import env

if TYPE_CHECKING:
    from repositories.engine.repository import Repository

VARIABLE = "SYNCOVA_REPOSITORY"


def split_location(words: Sequence[str], options: RepositoryOptions, most: int = 0) -> tuple[str, list[str]]:
    """Return the location and the arguments that are left of `words` (at most `most` follow a LOCATION).

    With -r all words are arguments; with SYNCOVA_REPOSITORY too, unless there is one word too many for that.
    """
    named = options.repository
    if named is None and len(words) <= most:
        named = env.text(VARIABLE)
    if named is not None:
        return resolve(named), require_named(words)
    if not words:
        raise LocationMissingError(
            "no repository is named", hint=f"give its LOCATION, or -r LOCATION, or set {VARIABLE}"
        )
    return resolve(words[0]), require_named(words[1:])


def require_named(words: Sequence[str]) -> list[str]:
    """Return the arguments. Raises CommandError for an empty one: an unset variable must not choose a thing."""
    if "" in words:
        raise CommandError("an argument is empty", hint="leave it out, or check the variable that it came from")
    return list(words)


def resolve(location: str) -> str:
    """Return `location` so that it means the same in every process: an absolute path, or a remote location in full.

    Raises CommandError, and LocationNotAvailableError for a place that is not offered.
    """
    try:
        location.encode("utf-8")
    except UnicodeEncodeError:
        raise CommandError(
            f"the location {show_text(location)} is not UTF-8", hint="a repository's path must be UTF-8 text"
        ) from None
    if not location:
        raise LocationMissingError("the repository's location is empty", hint=f"check -r or {VARIABLE}")
    place = parse_location(location)
    if isinstance(place, str):
        return os.fsdecode(absolute(place, "the location"))
    return with_region(place).text


def access(location: str, options: RepositoryOptions, terminal: Terminal) -> RepositoryAccess:
    """Return what opens the repository, the password read but nothing tried yet."""
    return access_to(location, read_password(options, terminal))


def access_to(location: str, password: str) -> RepositoryAccess:
    """Return what opens a repository with this password, and where this machine remembers what it saw of it."""
    seen, kept = seen_directory(), index_directory()
    return RepositoryAccess(
        location=location,
        password=password,
        seen_directory=None if seen is None else os.fsencode(seen),
        kept_directory=None if kept is None else os.fsencode(kept),
        credentials=credentials_for(location),
    )


def seen_directory() -> Path | None:
    """Return where this machine remembers the states of repositories, or None where it has no place for that."""
    state = env.state_directory()
    return None if state is None else state / "repositories"


def index_directory() -> Path | None:
    """Return where this machine keeps indexes of repositories, or None where it has no place for that."""
    seen = seen_directory()
    return None if seen is None else seen / "indexes"


def open_here(
    location: str,
    options: RepositoryOptions,
    terminal: Terminal,
    *,
    writes: bool = False,
    in_part: bool = False,
    meanwhile: Callable[[], None] | None = None,
) -> "Repository":
    """Open the repository in this process, for commands that look, or say something of backups (`writes`).

    Who looks is warned of an earlier state. Who writes is refused for it: raises RepositoryRolledBackError, and
    UnsupportedFormatError where this program must not write. With `in_part` it is also opened where its inventory is
    lost, which is warned of: its `refuse_writing` is an InventoryLostError then. A lost sweep is looked past with it.
    `meanwhile`, an import above all, is done while the password is turned into a key.
    """
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.process import opening

    wanted = access(location, options, terminal)
    opening.tell_waits(terminal.note)
    if meanwhile is not None:
        opening.begin(wanted)
        meanwhile()
    from repositories.engine.process.what_is_left import look_past_sweeps

    lost: InventoryLostError | None = None
    try:
        repository = opening.open_for(wanted)
    except InventoryLostError as error:
        if not in_part:
            raise
        lost, repository = error, opening.open_what_is_left(wanted, error)
    warn_if_public(wanted.password, terminal)
    repository.warn = terminal.engine_warning
    if lost is not None:
        terminal.inventory_lost = True
        opening.warn_of_what_is_left(repository, lost)
    opening.watch_states(wanted, repository, writes=writes)
    if in_part:
        look_past_sweeps(repository, terminal.note_lost_sweep)
    if writes:
        repository.require_writable()
    return repository


def exit_code_of(terminal: Terminal, *, damaged: bool = False) -> int:
    """Return how a command ends that has shown what it was asked for, and whether it met anything `damaged`."""
    return exits.INTEGRITY if damaged or terminal.inventory_lost or terminal.sweep_lost else exits.DONE


def own_paths(location: str) -> tuple[bytes, ...]:
    """Return what no backup may hold: the repository itself and Syncova's own data."""
    return own_data() if is_remote(location) else (*own_data(), os.fsencode(location))


def own_data() -> tuple[bytes, ...]:
    """Return where Syncova's own data lies, which no backup may hold."""
    kept = index_directory()
    data = os.fsencode(env.data_directory(env.process_environment()))
    return (data,) if kept is None else (data, os.fsencode(kept))
