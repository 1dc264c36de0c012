"""`syncova-repo key recovery-code`: a new recovery code, shown once."""

import contextlib
import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.cli.key_access import changing_keys
from repositories.console import exits
from repositories.console.failures import OutputLostError
from repositories.console.options import Option
from repositories.console.repository_access import split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_count
from repositories.engine.errors import EngineError

if TYPE_CHECKING:
    from repositories.engine.keychain import Keychain, NewRecoveryCode

NAME = "recovery-code"
HELP = (
    "Make a new recovery code and print it, once. With --replace earlier codes end as soon as it is printed. "
    + LOCATION_RULE
)
EXAMPLES = ("recovery-code /mnt/backups/home", "recovery-code -r /mnt/backups/home --replace --json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LocationOptions):
    """What `key recovery-code` takes."""

    replace: Annotated[bool, Option("--replace", help="Remove all earlier recovery codes.")] = False


def run(options: Options) -> int:
    """Make the code; earlier ones go only when it could be printed."""
    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    with changing_keys(location, options, terminal) as keys:
        return _make(keys, options, terminal)


def _make(keys: "Keychain", options: Options, terminal: Terminal) -> int:
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.keychain import add_recovery_code, remove_recovery_codes

    new = add_recovery_code(keys)
    try:
        terminal.line(f"recovery code: {new.code}")
        terminal.document({"recovery_code": new.code, "id": new.slot_id, "replace": options.replace})
        terminal.flush()
    except (BrokenPipeError, OutputLostError) as error:
        _take_back(keys, new)
        raise OutputLostError(
            f"the new recovery code could not be written ({_reason(error)}), and was removed again; earlier ones stay",
            hint="run it again where its output can be read",
        ) from error
    terminal.note("It opens the repository when the password is lost. It is shown only now: write it down.")
    if not options.replace:
        return exits.DONE
    try:
        removed = remove_recovery_codes(keys, new.slot_id)
    except EngineError as error:
        # The one object of --json is out, and holds what is shown only once.
        terminal.warning(f"earlier recovery codes could not be removed: {error.message}")
        return exits.FAILED
    terminal.note(f"removed {show_count(removed, 'earlier recovery code')}")
    return exits.DONE


def _take_back(keys: "Keychain", new: "NewRecoveryCode") -> None:
    """Remove a code that nobody has seen; if that fails it opens nothing for anybody all the same."""
    from repositories.engine.keychain import remove_key

    with contextlib.suppress(EngineError):
        remove_key(keys, new.slot_id)


def _reason(error: BrokenPipeError | OutputLostError) -> str:
    return os.strerror(errno.EPIPE) if isinstance(error, BrokenPipeError) else error.message
