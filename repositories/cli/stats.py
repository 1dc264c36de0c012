"""`syncova-repo stats`: how much lies in a repository, whose it is, and what forgetting would free."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from repositories.cli.arguments import LOCATION_RULE
from repositories.cli.naming import split_ids
from repositories.console.options import Argument, Option, RepositoryOptions
from repositories.console.repository_access import exit_code_of, open_here
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count, show_text, show_time

if TYPE_CHECKING:
    from repositories.engine.manifest.backups import Backup
    from repositories.engine.overview.statistics import Statistics, Use
    from repositories.engine.repository import Repository

NAME = "stats"
HELP = (
    "Show how much lies in a repository: what each source has alone and what is shared, how far deduplication and "
    "compression reach, and what is used by no backup. With BACKUPs or --source: about how much forgetting these would "
    f"free, once a prune has run. {LOCATION_RULE}"
)
EXAMPLES = (
    "stats /mnt/backups/home",
    "stats /mnt/backups/home 3fa2b1c0 9d01aa37",
    "stats -r /mnt/backups/home --source laptop:/home --json",
)
_FIGURES = (
    "logical_bytes",
    "content_bytes",
    "chunks",
    "used_bytes",
    "shared_bytes",
    "between_sources_bytes",
    "unused_bytes",
    "repeated_bytes",
    "packs",
    "pack_bytes",
    "index_bytes",
    "other_bytes",
    "missing_chunks",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `stats` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] [BACKUP…]", hidden=True)] = ()
    source: Annotated[str | None, Option("--source", metavar="NAME", help="All backups of this source.")] = None
    backups: Annotated[bool, Option("--backups", help="A line for each backup, too.")] = False


def run(options: Options) -> int:
    """Print the figures; backups that cannot be read whole end with 13, a lost inventory too."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.overview.statistics import gather

    terminal = terminal_of(options)
    location, ids = split_ids(options.words, options)
    repository = open_here(location, options, terminal, in_part=True)
    found = gather(repository, _chosen(repository, ids, options.source), lambda: None)
    _print(terminal, found, each_backup=options.backups)
    for name in repository.damaged_manifests():
        terminal.warning(f"{name} is damaged in both copies: what that backup used counts as unused")
    if terminal.inventory_lost:
        terminal.warning("what only older backups use counts as unused, or is not counted")
    if found.unreadable or found.missing_chunks:
        terminal.warning("not everything that backups use could be read: run check; these figures are too low")
    terminal.document(_document(found))
    return exit_code_of(terminal, damaged=bool(found.unreadable or found.missing_chunks))


def _chosen(repository: "Repository", ids: Sequence[str], source: str | None) -> "list[Backup]":
    from repositories.engine.manifest.backups import LATEST, list_backups
    from repositories.engine.process.what_is_left import choose_backup

    if ids:
        return [choose_backup(repository, each, source) for each in ids]
    if source is None:
        return []
    # Raises where there is none.
    choose_backup(repository, LATEST, source)
    return [each for each in list_backups(repository) if each.source_name == source]


def _print(terminal: Terminal, found: "Statistics", *, each_backup: bool) -> None:
    if found.chosen is not None:
        chosen = found.chosen
        terminal.line(
            f"forgetting {show_count(len(chosen.backups), 'backup')} frees about {show_bytes(chosen.unique_bytes)} "
            f"with the next prune; {'it describes' if len(chosen.backups) == 1 else 'they describe'} "
            f"{show_bytes(chosen.logical_bytes)}"
        )
        return
    terminal.table(_totals(found))
    if found.sources:
        terminal.columns(("BACKUPS", "SIZE", "ALONE", "SOURCE"), map(_source_row, found.sources))
    if each_backup:
        terminal.columns(("BACKUP", "TIME", "SIZE", "ALONE", "SOURCE"), map(_backup_row, found.backups))


def _totals(found: "Statistics") -> list[tuple[str, str]]:
    sizes = found.logical_bytes, found.content_bytes, found.used_bytes
    shared = f"{show_bytes(found.shared_bytes)}, {show_bytes(found.between_sources_bytes)} of it by several sources"
    return [
        (
            "backups",
            f"{len(found.backups):,} of {show_count(len(found.sources), 'source')}" if found.backups else "none",
        ),
        ("they describe", show_bytes(found.logical_bytes)),
        ("each content once", f"{show_bytes(found.content_bytes)}{_ratio('deduplication', *sizes[:2])}"),
        ("on the medium", f"{show_bytes(found.used_bytes)}{_ratio('compression', *sizes[1:])}"),
        ("used by several backups", shared),
        ("used by no backup", f"{show_bytes(found.unused_bytes)}: deleted, unfinished or left over"),
        ("stored more than once", show_bytes(found.repeated_bytes)),
        ("packs", f"{found.packs:,}, {show_bytes(found.pack_bytes)}"),
        ("index", show_bytes(found.index_bytes)),
        ("all else", show_bytes(found.other_bytes)),
    ]


def _ratio(what: str, before: int, after: int) -> str:
    """Return a ratio with one decimal, computed in integers; nothing where lists and seals outweigh what is saved."""
    if before < after or not after:
        return ""
    tenths = (before * 20 // after + 1) // 2
    return f" ({what} {tenths // 10}.{tenths % 10} : 1)"


def _source_row(use: "Use") -> tuple[str, ...]:
    return f"{len(use.backups):,}", show_bytes(use.logical_bytes), show_bytes(use.unique_bytes), show_text(use.name)


def _backup_row(use: "Use") -> tuple[str, ...]:
    (backup,) = use.backups
    return (
        backup.short_id,
        show_time(backup.received_ns),
        show_bytes(use.logical_bytes),
        show_bytes(use.unique_bytes),
        show_text(backup.source_name),
    )


def _document(found: "Statistics") -> dict[str, Any]:
    chosen = found.chosen
    return {
        **{name: getattr(found, name) for name in _FIGURES},
        "sources": list(map(_source_fields, found.sources)),
        "backups": None if chosen else [{**_named(use.backups[0]), **_sizes(use)} for use in found.backups],
        "chosen": None if chosen is None else {"backups": list(map(_named, chosen.backups)), **_sizes(chosen)},
        "unreadable": list(map(_named, found.unreadable)),
    }


def _source_fields(use: "Use") -> dict[str, Any]:
    return {"source": show_text(use.name), "backups": len(use.backups), **_sizes(use)}


def _sizes(use: "Use") -> dict[str, int]:
    return {"logical_bytes": use.logical_bytes, "unique_bytes": use.unique_bytes}


def _named(backup: "Backup") -> dict[str, str]:
    return {"id": show_text(backup.id), "short_id": backup.short_id, "source": show_text(backup.source_name)}
