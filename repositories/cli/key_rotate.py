"""`syncova-repo key rotate`: new keys for all that is written from now on, after a password has leaked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.cli.key_access import changing_keys, key_fields, key_name, remember_rotation
from repositories.console import exits
from repositories.console.confirming import confirm
from repositories.console.failures import CommandError, ConfirmationMissingError
from repositories.console.options import Option
from repositories.console.passwords import read_password_file
from repositories.console.repository_access import split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_count

if TYPE_CHECKING:
    from repositories.engine.keychain import Keychain, RotationPlan, RotationResult

NAME = "rotate"
HELP = (
    "Make new keys, in place: only the passwords and recovery codes in the files of --keep-file open the repository "
    "then; the labels of those that end are printed, and it asks; elsewhere than on a terminal --yes is needed if any "
    "ends. What is there stays readable; what someone writes with an ended password does not count. Backups that "
    "run meanwhile end refused and are to be run again. " + LOCATION_RULE
)
EXAMPLES = (
    "rotate /mnt/backups/home --keep-file ~/backup-password",
    "rotate -r /mnt/backups/home --password-file ~/admin --keep-file ~/admin --keep-file ~/laptop --yes --json",
)
# What the messages of a rotation say that know more than that it failed.
_TOLD = ("nothing was changed", "decided")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LocationOptions):
    """What `key rotate` takes."""

    keep_file: Annotated[
        tuple[str, ...],
        Option("--keep-file", metavar="FILE", help="File with a password or recovery code that stays; repeatable."),
    ] = ()
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before other passwords and codes end.")] = False


def run(options: Options) -> int:
    """Rotate; what ends is told before and after."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.keychain import plan_rotation

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    if not options.keep_file:
        raise CommandError("no password would be left", hint="name those that stay: --keep-file FILE, repeatable")
    kept = [read_password_file(name, terminal, "--keep-file") for name in options.keep_file]
    keep = [password.encode() for password in kept]
    with changing_keys(location, options, terminal) as keys:
        plan = plan_rotation(keys, keep)
        _foretell(terminal, plan)
        _agree(terminal, plan, yes=options.yes)
        result = _rotate(keys, keep)
    remember_rotation(location, kept[0])
    _tell(terminal, result)
    terminal.line(
        f"rotated to generation {result.generation}: {show_count(len(result.kept), 'key')} kept, "
        f"{len(result.ended)} ended, {show_count(result.inventoried, 'object')} from before count on"
    )
    for name in result.unreadable:
        terminal.warning(f"{name} could not be read and counts no more: see check")
    terminal.document(
        {
            "generation": result.generation,
            "kept": [key_fields(key) for key in result.kept],
            "ended": [key_fields(key) for key in result.ended],
            "inventoried": result.inventoried,
            "unreadable": list(result.unreadable),
        }
    )
    return exits.SKIPPED if result.unreadable else exits.DONE


def _rotate(keys: "Keychain", keep: list[bytes]) -> "RotationResult":
    """Rotate; an error after which all is as it was says so."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.errors import EngineError
    from repositories.engine.keychain import may_be_done, rotate

    try:
        return rotate(keys, keep)
    except EngineError as error:
        if any(told in error.message for told in _TOLD) or may_be_done(error):
            raise
        raise type(error)(f"{error.message}; all keys are as they were", hint=error.hint) from error


def _foretell(terminal: Terminal, plan: "RotationPlan") -> None:
    for key in plan.kept:
        terminal.note(f"to stay: {key_name(key)}")
    for key in plan.ending:
        terminal.note(f"to end: {key_name(key)}")


def _agree(terminal: Terminal, plan: "RotationPlan", *, yes: bool) -> None:
    """Ask before a password ends that others may need: that cannot be undone."""
    if not plan.ending:
        return
    names = ", ".join(key_name(key) for key in plan.ending)
    try:
        confirm(f"End {names}?", terminal, yes=yes, look="name what is to stay as well: --keep-file FILE")
    except ConfirmationMissingError as error:
        raise ConfirmationMissingError(f"{names} would end: {error.message}", hint=error.hint) from error


def _tell(terminal: Terminal, result: "RotationResult") -> None:
    for key in result.kept:
        terminal.line(f"stays: {key_name(key)}")
    for key in result.ended:
        terminal.line(f"ended: {key_name(key)}")
    if not any(key.role == "recovery_code" for key in result.kept):
        terminal.note("No recovery code stays; key recovery-code makes a new one.")
