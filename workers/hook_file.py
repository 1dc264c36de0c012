"""What the names of hooks run on this machine: `hooks.toml`, the only place that holds a command (execution.md, 3).

Owns reading that file and the trust in it: whoever can write it, or put another in its place, runs programs as this
worker. The API, the database and the messages hold names alone.

    [hooks.dump-database]
    argv = ["/usr/local/sbin/dump-database", "--all"]
    seconds = 600
    exits = { 75 = "skip", 1 = "warn" }
"""

import enum
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

from repositories.engine.display import show_text
from syncova_project.errors import SyncovaError

MAX_BYTES: Final = 256 * 1024
DEFAULT_SECONDS: Final = 300.0
LONGEST_SECONDS: Final = 24 * 3600.0
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_KNOWN: Final = frozenset({"argv", "seconds", "exits"})


class Decision(enum.StrEnum):
    """What an exit code comes to; 0 is always `go_on`, and what is not listed is `fail`."""

    GO_ON = "go_on"
    WARN = "warn"
    SKIP = "skip"
    FAIL = "fail"


class HooksFileError(SyncovaError):
    """The file of hooks cannot be trusted or read, or does not know a name."""

    code: ClassVar[str] = "HOOKS_FILE"


@dataclass(frozen=True, slots=True)
class Hook:
    """One named program: started as it stands, with no shell between; `seconds` is its time limit."""

    name: str
    argv: tuple[str, ...]
    seconds: float = DEFAULT_SECONDS
    exits: Mapping[int, Decision] = field(default_factory=dict)

    def decide(self, exit_code: int) -> Decision:
        """Return what this exit code comes to."""
        return Decision.GO_ON if exit_code == 0 else self.exits.get(exit_code, Decision.FAIL)


def load_hooks(place: Path) -> dict[str, Hook]:
    """Return the hooks of the file by name; raises HooksFileError where it is missing, open to others or wrong."""
    try:
        document = tomllib.loads(_trusted_text(place).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _error(place, f"is no TOML: {error}", "mend it") from error
    tables = document.get("hooks", {})
    if set(document) - {"hooks"} or not isinstance(tables, dict):
        raise _error(place, "holds something else than tables [hooks.NAME]", "remove what is not one")
    return {name: _hook(place, name, table) for name, table in tables.items()}


def _trusted_text(place: Path) -> bytes:
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        reason = f"cannot be opened: {error.strerror}"
        raise _error(place, reason, "make it, or name another one by SYNCOVA_HOOKS_FILE") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise _error(place, "is no file", "put a file there")
    with os.fdopen(descriptor, "rb") as file:
        _refuse_open(place, status)
        # Whoever may write the directory can put another file in its place.
        _refuse_open(place.parent, place.parent.stat())
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise _error(place, f"has more than {MAX_BYTES:,} bytes", "shorten it")
    return text


def _refuse_open(place: Path, status: os.stat_result) -> None:
    if status.st_uid not in {0, os.geteuid()}:
        raise _error(place, "belongs to another user", "give it to root, or to the user of this worker")
    if stat.S_IMODE(status.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        raise _error(place, "may be written by others", f"chmod go-w {show_text(str(place))}")


def _hook(place: Path, name: str, table: Any) -> Hook:
    if not _NAME.fullmatch(name) or not isinstance(table, dict) or set(table) - _KNOWN:
        raise _error(place, f"{show_text(name)} is no hook", "a hook has argv, and may have seconds and exits")
    argv, seconds = table.get("argv"), table.get("seconds", DEFAULT_SECONDS)
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) and "\0" not in word for word in argv):
        raise _error(place, f"{name}: argv is no list of words", "name the program and its arguments, one a word")
    if not argv[0].startswith("/"):
        raise _error(place, f"{name}: {show_text(argv[0])} is no absolute path", "write the program's full path")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_SECONDS:
        raise _error(place, f"{name}: seconds is no time limit", f"give more than 0 and at most {LONGEST_SECONDS:,.0f}")
    return Hook(name, tuple(argv), float(seconds), _exits(place, name, table.get("exits", {})))


def _exits(place: Path, name: str, table: Any) -> dict[int, Decision]:
    wrong = _error(place, f"{name}: exits is wrong", 'write it as { 75 = "skip", 1 = "warn" }; codes from 1 to 255')
    if not isinstance(table, dict):
        raise wrong
    try:
        exits = {int(code): Decision(word) for code, word in table.items()}
    except ValueError as error:
        raise wrong from error
    if any(not 1 <= code <= 255 for code in exits):
        raise wrong
    return exits


def _error(place: Path, reason: str, hint: str) -> HooksFileError:
    return HooksFileError(f"The file of hooks {show_text(str(place))}: {reason}.", hint=hint)
