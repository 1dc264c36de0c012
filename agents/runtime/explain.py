"""`syncova-agent explain`: whether a backup would hold a path, and which exclude rule decides."""

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import OutputOptions
from repositories.console.paths import absolute, exclude_rules
from repositories.console.terminal import terminal_of
from repositories.engine.display import path_fields, show_path, show_text

if TYPE_CHECKING:
    from repositories.engine.source.excludes import Explanation

NAME = "explain"
HELP = "Tell whether a backup of ROOT would hold PATH, and which exclude rule decides. The last match wins."
EXAMPLES = (
    "explain --path /srv/www/cache/a.tmp --exclude '*.tmp' --exclude '!keep.tmp' /srv",
    "explain --path www/cache --exclude-file ~/.backup-excludes /srv --json",
)
_SOCKET, _OTHER = "socket", "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OutputOptions):
    """What `explain` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="ROOT", hidden=True)] = ()
    path: Annotated[
        str | None, Option("--path", metavar="PATH", help="The path in question: absolute, or relative to ROOT.")
    ] = None
    exclude: Annotated[
        tuple[str, ...], Option("--exclude", metavar="RULE", help="An exclude rule (gitignore); repeatable.")
    ] = ()
    exclude_file: Annotated[
        tuple[str, ...], Option("--exclude-file", metavar="FILE", help="Rules from a file, one a line; repeatable.")
    ] = ()


def run(options: Options) -> int:
    """Print the deciding rule."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.source.excludes import explain

    terminal = terminal_of(options)
    if options.path is None or len(options.words) != 1:
        raise CommandError("explain takes --path PATH and one ROOT", hint="see --help")
    if not options.path:
        raise CommandError("--path is empty", hint="give a path; . is the root itself")
    root = absolute(options.words[0], "ROOT")
    path = os.fsencode(options.path)
    found = explain(root, path, exclude_rules(options.exclude, options.exclude_file))
    kind = _kind(os.path.join(root, path))
    terminal.line(f"{show_path(path)} {_verdict(found, kind)}")
    document: dict[str, Any] = {
        **path_fields(path),
        "exists": kind is not None,
        "excluded": found.excluded or kind == _SOCKET,
        "rule": None if found.rule is None else show_text(found.rule),
        "rule_number": found.rule_number,
        "decided_at": path_fields(found.decided_at),
    }
    terminal.document(document)
    return exits.DONE


def _kind(path: bytes) -> str | None:
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return _OTHER
    return _SOCKET if stat.S_ISSOCK(mode) else _OTHER


def _verdict(found: "Explanation", kind: str | None) -> str:
    reason = "no rule matches it"
    if found.rule is not None:
        reason = f"rule {found.rule_number}, {show_text(found.rule)}, matches {show_path(found.decided_at)}"
    if found.excluded:
        return f"is left out: {reason}"
    if kind == _SOCKET:
        return "is left out: a socket holds nothing that a backup could keep"
    if kind is None:
        return f"does not exist; it would be backed up: {reason}"
    return f"is backed up: {reason}"
