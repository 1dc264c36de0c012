"""How much a repository holds, how much of that is whose, and what forgetting would free.

Owns the sums. A chunk takes its share of the block that it lies in; room is freed in whole packs, by a prune, so that
what would be freed is told as about.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.manifest.backups import Backup, list_backups
from repositories.engine.overview.ownership import NOBODY, SHARED, Ownership
from repositories.engine.overview.places import places_of
from repositories.engine.packs.reader import PackReader
from repositories.engine.prune.chunks import ChunksByOrdinal
from repositories.engine.prune.compact import CompactIndex
from repositories.engine.prune.report import Beat
from repositories.engine.repository import Repository


@dataclass(slots=True)
class Use:
    """A backup, a source, or the backups that were asked about: `unique_bytes` on the medium are used by it alone.

    `logical_bytes` is the full size of what its backups describe.
    """

    name: str
    backups: list[Backup] = field(default_factory=list)
    logical_bytes: int = 0
    unique_bytes: int = 0


@dataclass(slots=True)
class Statistics:
    """Sizes in bytes. `content_bytes` is what backups use, each chunk once, before compression.

    On the medium: `used_bytes` are taken by these chunks, of which `shared_bytes` are used by several backups and
    `between_sources_bytes` by several sources; `unused_bytes` by chunks of no listed backup (deleted, unfinished, left
    over), `repeated_bytes` by chunks that lie there more than once. `unreadable` backups are counted as far as they can
    be read; `missing_chunks` are in no index.
    """

    sources: list[Use] = field(default_factory=list)
    backups: list[Use] = field(default_factory=list)
    chosen: Use | None = None
    logical_bytes: int = 0
    content_bytes: int = 0
    chunks: int = 0
    used_bytes: int = 0
    shared_bytes: int = 0
    between_sources_bytes: int = 0
    unused_bytes: int = 0
    repeated_bytes: int = 0
    packs: int = 0
    pack_bytes: int = 0
    index_bytes: int = 0
    other_bytes: int = 0
    unreadable: list[Backup] = field(default_factory=list)
    missing_chunks: int = 0


def gather(repository: Repository, chosen: Sequence[Backup], beat: Beat) -> Statistics:
    """Return the statistics of a repository; `chosen` backups are looked at as one. Raises the storage's errors.

    `beat` is called for each page that is read, and may raise to end it.
    """
    with repository.begin_read():
        backups = list_backups(repository)
        index = places_of(repository)
        reader = ChunksByOrdinal(index, PackReader(repository.store), repository.keyring)
        ownership = Ownership(index, reader, beat)
        found, uses = _walk(backups, frozenset(each.manifest_id for each in chosen), ownership)
    found.missing_chunks = ownership.missing
    _sum(found, index, ownership, uses)
    _measure(found, repository)
    return found


def _walk(
    backups: Sequence[Backup], chosen: frozenset[str], ownership: Ownership
) -> tuple[Statistics, tuple[list[Use], list[Use]]]:
    """Walk all backups; return what is known of them, and whom the numbers of owners (from 1) stand for."""
    found = Statistics()
    found.chosen = Use("chosen") if chosen else None
    numbers: dict[str, int] = {}
    owners: list[Use] = [found.chosen] if found.chosen is not None else []
    for backup in backups:
        source = numbers.setdefault(backup.source_name, len(numbers) + 1)
        if source > len(found.sources):
            found.sources.append(Use(backup.source_name))
        own = Use(backup.id)
        found.backups.append(own)
        if found.chosen is not None and backup.manifest_id in chosen:
            number = 1
            _count(backup, found.chosen)
        else:
            owners.append(own)
            number = len(owners)
        _count(backup, own, found.sources[source - 1])
        found.logical_bytes += backup.root.statistics.logical_bytes
        try:
            ownership.add(backup.root, (number, source))
        except (IntegrityError, ObjectMissingError):
            found.unreadable.append(backup)
    return found, (owners, found.sources)


def _count(backup: Backup, *uses: Use) -> None:
    for use in uses:
        use.backups.append(backup)
        use.logical_bytes += backup.root.statistics.logical_bytes


def _sum(found: Statistics, index: CompactIndex, ownership: Ownership, uses: tuple[list[Use], list[Use]]) -> None:
    for number in range(len(index.packs)):
        for first, end, part in index.blocks_of(number):
            total = sum(index.length_at(ordinal) for ordinal in range(first, end)) or 1
            before = 0
            for ordinal in range(first, end):
                length = index.length_at(ordinal)
                # Differences of rounded sums: the shares of a block together are the block.
                stored = part * (before + length) // total - part * before // total
                before += length
                if index.standing(ordinal) != ordinal:
                    found.repeated_bytes += stored
                else:
                    _give(found, (length, stored), ownership.owners(ordinal), uses)


def _give(
    found: Statistics, sizes: tuple[int, int], owners: tuple[int, int], uses: tuple[list[Use], list[Use]]
) -> None:
    length, stored = sizes
    if owners[0] == NOBODY:
        found.unused_bytes += stored
        return
    found.chunks += 1
    found.content_bytes += length
    found.used_bytes += stored
    for owner, among in zip(owners, uses, strict=True):
        if owner != SHARED:
            among[owner - 1].unique_bytes += stored
    found.shared_bytes += stored * (owners[0] == SHARED)
    found.between_sources_bytes += stored * (owners[1] == SHARED)


def _measure(found: Statistics, repository: Repository) -> None:
    for stored in repository.object_names():
        kind = stored.name.removeprefix("copies/").partition("/")[0]
        if kind == "packs":
            found.packs += 1
            found.pack_bytes += stored.size
        elif kind == "index":
            found.index_bytes += stored.size
        else:
            found.other_bytes += stored.size
