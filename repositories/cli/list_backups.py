"""`syncova-repo list`: the backups of a repository, oldest first."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.console.options import Option
from repositories.console.repository_access import exit_code_of, open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count, show_text, show_time

if TYPE_CHECKING:
    from repositories.engine.manifest.backups import Backup
    from repositories.engine.process.label_fields import Said

NAME = "list"
HELP = (
    "List the backups of a repository, oldest first; with --deleted those that undelete can bring back. "
    f"{LOCATION_RULE}"
)
EXAMPLES = (
    "list /mnt/backups/home",
    "list -r /mnt/backups/home --source laptop:/home --json",
    "list /mnt/backups/home --deleted",
)
_COLUMNS = ("ID", "TIME", "MODE", "FILES", "SIZE", "STATE", "SOURCE", "TAGS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LocationOptions):
    """What `list` takes."""

    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    tag: Annotated[str | None, Option("--tag", metavar="TAG", help="Only backups with this tag.")] = None
    deleted: Annotated[bool, Option("--deleted", help="Those that are deleted and not yet pruned, instead.")] = False


def run(options: Options) -> int:
    """Print the backups; an empty repository is no error, a lost or missing backup or inventory ends with 13."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.manifest.backups import list_backups
    from repositories.engine.manifest.withheld import withheld
    from repositories.engine.process.describe import backups_document
    from repositories.engine.process.label_fields import said_now

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    repository = open_here(location, options, terminal, in_part=True)
    listed = list_backups(repository, deleted=options.deleted)
    said = said_now(repository)
    backups = [backup for backup in listed if backup.deleted == options.deleted and _is_wanted(backup, options, said)]
    damaged, hurt = repository.damaged_manifests(), repository.hurt_manifests()
    # Without the inventory nothing tells what was deleted before the rotation.
    missing = {} if terminal.inventory_lost else withheld(repository, listed, said.notes)
    _print(terminal, backups, hurt, said)
    for name in damaged:
        terminal.warning(f"{name} is damaged in both copies: that backup is lost")
    _warn_of(missing, terminal)
    if any(backup.manifest_id in hurt for backup in backups):
        terminal.warning("the last check could not have restored everything of what is shown as damaged")
    document = backups_document(backups, damaged, hurt, said)
    lost = [f"manifests/{each.hex()}" for each in sorted(missing)]
    lacking = {"inventory_lost": terminal.inventory_lost, "sweep_lost": terminal.sweep_lost}
    terminal.document({**document, "missing_manifests": lost, **lacking})
    return exit_code_of(terminal, damaged=bool(damaged or missing))


def _warn_of(missing: dict[bytes, str], terminal: Terminal) -> None:
    for manifest_id, naming in sorted(missing.items()):
        terminal.warning(
            f"manifests/{manifest_id.hex()} is neither there nor deleted, though {naming} names it: that backup is "
            "lost or withheld; check tells more"
        )


def _is_wanted(backup: "Backup", options: Options, said: "Said") -> bool:
    return options.source in (None, backup.source_name) and (options.tag is None or options.tag in _tags(backup, said))


def _tags(backup: "Backup", said: "Said") -> tuple[str, ...]:
    from repositories.engine.retention.standing import tags_of

    return tags_of(backup.root.origin.tags, said.notes.of(bytes.fromhex(backup.manifest_id)))


def _print(terminal: Terminal, backups: list["Backup"], hurt: frozenset[str], said: "Said") -> None:
    if not backups:
        terminal.line("no backups")
        return
    terminal.columns(_COLUMNS, (_row(backup, hurt, said) for backup in backups))


def _row(backup: "Backup", hurt: frozenset[str], said: "Said") -> tuple[str, ...]:
    return (
        backup.short_id,
        show_time(backup.received_ns),
        show_text(backup.root.lineage.mode),
        f"{backup.root.statistics.files:,}",
        show_bytes(backup.root.statistics.logical_bytes),
        _state(backup, hurt, said),
        show_text(backup.source_name),
        ", ".join(map(show_text, _tags(backup, said))),
    )


def _state(backup: "Backup", hurt: frozenset[str], said: "Said") -> str:
    from repositories.engine.process.describe import backup_state

    figures = backup.root.statistics
    state = backup_state(backup, hurt)
    manifest_id = bytes.fromhex(backup.manifest_id)
    if said.notes.holds(manifest_id, said.now_ns):
        state += ", held"
    if backup.deleted:
        state += f", deleted {show_time(said.notes.deletions[manifest_id][-1].created_ns)}"
    if figures.skipped or figures.warnings:
        state += f" ({figures.skipped:,} skipped, {show_count(figures.warnings, 'warning')})"
    return state
