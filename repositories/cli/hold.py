"""`syncova-repo hold`: keep a backup from every deletion, or end that."""

from dataclasses import dataclass
from typing import Annotated, Any

from repositories.cli.arguments import LOCATION_RULE, expect
from repositories.cli.undelete import PRUNING
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import Argument, Option, RepositoryOptions
from repositories.console.repository_access import open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.console.times import parse_moment
from repositories.engine.display import show_count

NAME = "hold"
HELP = (
    "Hold a backup: neither rules nor names delete it until the hold ends. It wins over a deletion at the same moment. "
    f"BACKUP is an id, any unique part of it, or latest. {LOCATION_RULE}"
)
EXAMPLES = (
    "hold /mnt/backups/home 3fa2b1c0 --reason 'audit 2026' --until 2027-06-30",
    "hold -r /mnt/backups/home 3fa2b1c0 --release",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `hold` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] BACKUP", hidden=True)] = ()
    reason: Annotated[str, Option("--reason", metavar="TEXT", help="Why it must stay; shown to whoever asks.")] = ""
    until: Annotated[
        str | None, Option("--until", metavar="TIME", help="When the hold ends by itself; UTC if no zone.")
    ] = None
    release: Annotated[bool, Option("--release", help="End all holds of the backup. Deletes nothing.")] = False
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None


def run(options: Options) -> int:
    """Place a hold, or end all, and print what holds then."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.forgetting import Held, place_hold, release_holds
    from repositories.engine.manifest.backups import find_backup
    from repositories.engine.process.forget_fields import name_fields
    from repositories.engine.process.label_fields import label_fields, said_now

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options, most=1)
    (selector,) = expect(rest, ("BACKUP",))
    if options.release and (options.reason or options.until is not None):
        raise CommandError("--release takes neither --reason nor --until", hint="release first, then hold anew")
    until_ns = None if options.until is None else parse_moment(options.until)
    repository = open_here(location, options, terminal, writes=True)
    backup = find_backup(repository, selector, options.source)
    held, released = Held(certain=True, brought_back=False), 0
    if options.release:
        released = release_holds(repository, backup)
    else:
        held = place_hold(repository, backup, options.reason, until_ns)
    fields = {**name_fields(backup), **label_fields(backup, said_now(repository))}
    _print(terminal, fields, released if options.release else None)
    if held.brought_back:
        terminal.line(f"backup {fields['short_id']} had just been deleted; the hold has brought it back")
    if not held.certain:
        terminal.warning(PRUNING)
    terminal.document(
        {
            "backup": fields,
            "released": released,
            "brought_back": held.brought_back,
            "uncertain": not held.certain,
        }
    )
    return exits.DONE if held.certain else exits.LOCKED


def _print(terminal: Terminal, fields: dict[str, Any], released: int | None) -> None:
    if released is not None:
        ended = f"{show_count(released, 'hold')} of backup {fields['short_id']} ended"
        terminal.line(ended if released else f"backup {fields['short_id']} had no hold: nothing was changed")
    for hold in fields["holds"]:
        until = "until it is released" if hold["until"] is None else f"until {hold['until']}"
        terminal.line(f"backup {fields['short_id']} is held {until}: {hold['reason']}")
