"""Where a password comes from: a file, a program, the environment, or a question on a terminal.

Never an argument, never shown, never logged. Owns reading it; keeps nothing.
"""

import os
import stat
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from repositories.console.failures import CommandError, PasswordMissingError, PasswordUnreadableError
from repositories.console.options import RepositoryOptions
from repositories.console.terminal import Terminal
from repositories.engine.display import show_text
from syncova_project import env

VARIABLE = "SYNCOVA_REPOSITORY_PASSWORD"
_LIMIT = 65_536


class PasswordPlace(Struct, frozen=True):
    """Where the password of a second repository comes from: its options begin with `prefix`, and have no variable."""

    file: str | None
    command: str | None
    insecure: bool
    prefix: str = ""
    variable: str | None = None


def read_password(options: RepositoryOptions, terminal: Terminal) -> str:
    """Return the secret that opens a repository; empty only with --insecure-no-password.

    Raises PasswordMissingError when there is none and no terminal to ask on, PasswordUnreadableError when the
    named source gives none.
    """
    return read_secret(_place_of(options), terminal, "Password or recovery code: ")


def read_secret(place: PasswordPlace, terminal: Terminal, question: str) -> str:
    """Return the secret from `place`, else the answer to `question` on a terminal. Raises as `read_password` does."""
    given = _given(place, terminal)
    if given is not None:
        return given
    _need_terminal(place)
    return _refuse_empty(_typed(question), "what was typed")


def read_new_password(options: RepositoryOptions, terminal: Terminal) -> str:
    """Return the password of a repository that is about to be made; asks twice on a terminal."""
    return read_new_secret(_place_of(options), terminal)


def read_new_secret(place: PasswordPlace, terminal: Terminal) -> str:
    """Return a new password from `place`, else what is typed twice on a terminal. Raises as `read_password` does."""
    given = _given(place, terminal)
    if given is not None:
        return given
    _need_terminal(place)
    password = _refuse_empty(_typed("New password: "), "what was typed")
    if _typed("The same again: ") != password:
        raise CommandError("the two passwords differ", hint="run the command again")
    return password


def read_password_file(name: str, terminal: Terminal, option: str) -> str:
    """Return the password in a file that `option` names. Raises PasswordUnreadableError."""
    return _from_file(name, terminal, option)


def warn_if_public(password: str, terminal: Terminal) -> None:
    """Warn when the password that opened a repository, or will, is the empty one."""
    if not password:
        terminal.warning("this repository is not secret: its password is empty and published")


def _place_of(options: RepositoryOptions) -> PasswordPlace:
    return PasswordPlace(
        options.password_file, options.password_command, options.insecure_no_password, variable=VARIABLE
    )


def _given(place: PasswordPlace, terminal: Terminal) -> str | None:
    prefix = place.prefix
    ways = [place.file is not None, place.command is not None, place.insecure]
    if sum(ways) > 1:
        names = f"--{prefix}password-file, --{prefix}password-command and --{prefix}insecure-no-password"
        raise CommandError(f"{names} exclude each other", hint="give one")
    if place.insecure:
        return ""
    if place.file is not None:
        return _from_file(place.file, terminal, f"--{prefix}password-file")
    if place.command is not None:
        return _from_command(place.command)
    value = env.text(place.variable) if place.variable is not None else None
    return None if value is None else _refuse_empty(_first_line(os.fsencode(value), VARIABLE), VARIABLE)


def _from_file(name: str, terminal: Terminal, option: str) -> str:
    try:
        with Path(name).open("rb") as file:
            content = file.read(_LIMIT + 1)
            mode = os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise PasswordUnreadableError(
            f"the password file {show_text(name)} cannot be read: {error.strerror}", hint=f"check {option}"
        ) from error
    if stat.S_ISREG(mode) and mode & 0o077:
        terminal.warning(f"the password file {show_text(name)} may be read by other users: chmod 600 it")
    what = f"the password file {show_text(name)}"
    return _refuse_empty(_first_line(content, what), what)


def _typed(question: str) -> str:
    # Imported where somebody is asked, as all that few commands need.
    import getpass

    return getpass.getpass(question)


def _from_command(command: str) -> str:
    import shlex

    try:
        words = shlex.split(command)
    except ValueError as error:
        # The library's words, such as "No closing quotation": they quote nothing of the command.
        raise PasswordUnreadableError(
            f"the password command cannot be taken apart: {str(error).lower()}", hint="quote it as for a shell"
        ) from error
    try:
        finished = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    except (ValueError, IndexError, OSError, subprocess.CalledProcessError) as error:
        raise PasswordUnreadableError(
            f"the password command failed: {_reason(error)}", hint="check --password-command"
        ) from error
    return _refuse_empty(_first_line(finished.stdout, "the password command"), "the password command's output")


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return f"it ended with {error.returncode}"
    if isinstance(error, OSError):
        return error.strerror or "it cannot be started"
    return "it names no program"


def _first_line(content: bytes, what: str) -> str:
    if len(content) > _LIMIT:
        raise PasswordUnreadableError(f"{what} holds more than {_LIMIT} bytes", hint="that is no password")
    try:
        return content.partition(b"\n")[0].rstrip(b"\r").decode("utf-8")
    except UnicodeDecodeError:
        raise PasswordUnreadableError(f"{what} is not UTF-8 text", hint="save the password as UTF-8") from None


def _refuse_empty(password: str, what: str) -> str:
    if not password.isascii() and not _is_text(password):
        raise PasswordUnreadableError(f"{what} is not UTF-8 text", hint="check the terminal's encoding")
    if not password:
        raise PasswordUnreadableError(f"{what} is empty", hint="an empty password needs --insecure-no-password")
    return password


def _is_text(password: str) -> bool:
    try:
        password.encode()
    except UnicodeEncodeError:
        return False
    return True


def _need_terminal(place: PasswordPlace) -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        ways = [f"--{place.prefix}password-file", f"--{place.prefix}password-command"]
        ways += [place.variable, f"{place.variable}_FILE"] if place.variable is not None else []
        raise PasswordMissingError(
            "no password was given and there is no terminal to ask on",
            hint=f"give {', '.join(ways[:-1])} or {ways[-1]}, or run it on a terminal",
        )
