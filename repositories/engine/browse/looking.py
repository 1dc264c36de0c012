"""One path of a backup: its entry, and what lies in it or below it.

Owns the way from a path to entries, of which only the pages that hold it are read. Memory: one page per level.
"""

from collections.abc import Iterator

from repositories.engine.browse.wide_directory import ENOUGH, NearSource, shown_pages
from repositories.engine.display import show_names, show_path
from repositories.engine.errors import ConfigurationError
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry
from repositories.engine.manifest.entry_reader import read_below, read_directory, read_entry
from repositories.engine.manifest.name_reader import read_names, wide_directory
from repositories.engine.manifest.order import join


def entry_at(source: ChunkSource, backup: Backup, path: bytes) -> Entry | None:
    """Return the entry at a path relative to the source; for "" the root directory's, None for a single file's.

    Raises ConfigurationError when it is not in the backup: an empty directory and a missing one must not look alike.
    """
    if not path:
        return backup.root.top_entry
    entry = read_entry(source, backup.root.pages, path)
    if entry is None:
        raise ConfigurationError(f"{show_path(path)} is not in backup {backup.short_id}", hint="ls shows what is")
    return entry


def names_of(source: NearSource, backup: Backup, path: bytes) -> Iterator[str]:
    """Yield the paths of what a directory holds, or of the one object at `path`, as lines, many at once.

    In name order. Raises ConfigurationError as `entry_at` does, IntegrityError, ObjectMissingError.
    """
    top = backup.root.pages
    named = entry_at(source, backup, path)
    if path and named is not None and not named.is_directory:
        yield show_path(path)
    elif pages := wide_directory(source, top, path, ENOUGH):
        yield from shown_pages(source, pages, path)
    else:
        yield from (show_names(path, names) for names in read_names(source, top, path))


def entries_of(source: ChunkSource, backup: Backup, path: bytes, *, recursive: bool) -> Iterator[tuple[bytes, Entry]]:
    """Yield (path, entry) of what a directory holds, or of everything below it, or of the one object at `path`.

    In name order, with `recursive` in manifest order. Raises ConfigurationError as `entry_at` does, IntegrityError.
    """
    named = entry_at(source, backup, path)
    if path and named is not None and not named.is_directory:
        yield path, named
    elif not recursive:
        for entry in read_directory(source, backup.root.pages, path):
            yield join(path, entry.name), entry
    else:
        for listing in read_below(source, backup.root.pages, path):
            for entry, _ in listing.entries:
                yield join(listing.directory, entry.name), entry
