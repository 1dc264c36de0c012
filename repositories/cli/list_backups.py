"""`syncova-repo list`: the backups of a repository, oldest first."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.console import exits
from repositories.console.repository_access import open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count, show_text, show_time

if TYPE_CHECKING:
    from repositories.engine.manifest.backups import Backup

NAME = "list"
HELP = f"List the backups of a repository, oldest first. {LOCATION_RULE}"
EXAMPLES = ("list /mnt/backups/home", "list -r /mnt/backups/home --source laptop:/home --json")
_COLUMNS = ("ID", "TIME", "MODE", "FILES", "SIZE", "STATE", "SOURCE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LocationOptions):
    """What `list` takes."""

    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None


def run(options: Options) -> int:
    """Print the backups; an empty repository is no error, a lost backup ends with 13."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.manifest.backups import list_backups
    from repositories.engine.process.describe import backups_document

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    repository = open_here(location, options, terminal)
    found = list_backups(repository)
    backups = [backup for backup in found if options.source is None or backup.source_name == options.source]
    damaged, hurt = repository.damaged_manifests(), repository.hurt_manifests()
    _print(terminal, backups, hurt)
    for name in damaged:
        terminal.warning(f"{name} is damaged in both copies: that backup is lost")
    if any(backup.manifest_id in hurt for backup in backups):
        terminal.warning("the last check could not have restored everything of what is shown as damaged")
    terminal.document(backups_document(backups, damaged, hurt))
    return exits.INTEGRITY if damaged else exits.DONE


def _print(terminal: Terminal, backups: list["Backup"], hurt: frozenset[str]) -> None:
    if not backups:
        terminal.line("no backups")
        return
    terminal.columns(_COLUMNS, (_row(backup, hurt) for backup in backups))


def _row(backup: "Backup", hurt: frozenset[str]) -> tuple[str, ...]:
    from repositories.engine.process.describe import backup_state

    figures = backup.root.statistics
    state = backup_state(backup, hurt)
    if figures.skipped or figures.warnings:
        state += f" ({figures.skipped:,} skipped, {show_count(figures.warnings, 'warning')})"
    return (
        backup.short_id,
        show_time(backup.received_ns),
        show_text(backup.root.lineage.mode),
        f"{figures.files:,}",
        show_bytes(figures.logical_bytes),
        state,
        show_text(backup.source_name),
    )
