"""`syncova-agent explain`: which exclude rule decides about a path, and why."""

import os
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Argument, Option

from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import OutputOptions
from repositories.console.paths import absolute, exclude_rules
from repositories.console.terminal import terminal_of
from repositories.engine.display import path_fields, show_path, show_text

NAME = "explain"
HELP = "Tell whether a backup of ROOT would hold PATH, and which exclude rule decides. The last match wins."
EXAMPLES = (
    "explain --path /srv/www/cache/a.tmp --exclude '*.tmp' --exclude '!keep.tmp' /srv",
    "explain --path www/cache --exclude-file ~/.backup-excludes /srv --json",
)


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
    root = absolute(options.words[0])
    path = os.fsencode(options.path)
    found = explain(root, path, exclude_rules(options.exclude, options.exclude_file))
    verdict = "left out" if found.excluded else "backed up"
    reason = "no rule matches it"
    if found.rule is not None:
        reason = f"rule {found.rule_number}, {show_text(found.rule)}, matches {show_path(found.decided_at)}"
    terminal.line(f"{show_path(path)} is {verdict}: {reason}")
    document: dict[str, Any] = {
        **path_fields(path),
        "excluded": found.excluded,
        "rule": None if found.rule is None else show_text(found.rule),
        "rule_number": found.rule_number,
        "decided_at": path_fields(found.decided_at),
    }
    terminal.document(document)
    return exits.DONE
