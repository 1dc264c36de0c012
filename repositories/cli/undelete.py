"""`syncova-repo undelete`: bring deleted backups back, until a prune has taken them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from repositories.cli.arguments import LOCATION_RULE
from repositories.cli.naming import split_ids
from repositories.console import exits
from repositories.console.options import Argument, Option, RepositoryOptions
from repositories.console.repository_access import open_here
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_count, show_text, show_time

if TYPE_CHECKING:
    from repositories.engine.forgetting import UndeleteResult

NAME = "undelete"
HELP = f"Bring deleted backups back, each by its id, or all. What a prune has taken is gone. {LOCATION_RULE}"
EXAMPLES = (
    "undelete /mnt/backups/home 3fa2b1c0",
    "undelete -r /mnt/backups/home --all --source laptop:/home --json",
)
PRUNING = (
    "a prune or the writer of a backup is under way, or was broken off, and may have decided about them before: when "
    "it has ended, list tells whether they are there"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `undelete` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] [BACKUP…]", hidden=True)] = ()
    everything: Annotated[bool, Option("--all", help="All that are deleted and not yet pruned.")] = False
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    reason: Annotated[str, Option("--reason", metavar="TEXT", help="Kept with the record of it.")] = ""


def run(options: Options) -> int:
    """Undo the deletions and tell what is back; what is gone ends with 1, what cannot be known yet with 11."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.forgetting import undelete
    from repositories.engine.process.forget_fields import named_fields

    terminal = terminal_of(options)
    location, ids = split_ids(options.words, options)
    repository = open_here(location, options, terminal, writes=True)
    result = undelete(repository, ids, everything=options.everything, source=options.source, reason=options.reason)
    _print(terminal, result)
    terminal.document(
        {
            "undeleted": named_fields(result.back),
            "still_deleted": named_fields(result.still_deleted),
            "gone": named_fields(result.gone),
            "uncertain": result.uncertain,
        }
    )
    if result.gone or result.still_deleted:
        return exits.FAILED
    return exits.LOCKED if result.uncertain else exits.DONE


def _print(terminal: Terminal, result: "UndeleteResult") -> None:
    for backup in result.back:
        when = show_time(backup.received_ns)
        terminal.line(f"backup {backup.short_id} of {show_text(backup.source_name)}, {when}, is back")
    for backup in result.still_deleted:
        terminal.warning(
            f"backup {backup.short_id} is still deleted: somebody deleted it at the same time; run it again"
        )
    for backup in result.gone:
        terminal.warning(f"backup {backup.short_id} is gone: a prune has taken it, or its writer")
    if result.uncertain:
        terminal.warning(PRUNING)
    terminal.note(f"{show_count(len(result.back), 'backup')} brought back")
    if not (result.back or result.still_deleted or result.gone):
        terminal.note("none is deleted that could be brought back; what a prune has taken is gone for good")
