"""`dump`: one file of a backup as its bytes, or anything as a tar archive.

Owns how a dump ends: an archive that could not be finished ends in the middle of a header, so that no reader takes it
for a whole one.
"""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from repositories.engine.browse.archive import Archive, Dumped
from repositories.engine.browse.contents import Contents, Emit, emit_zeros
from repositories.engine.browse.depth_first import DepthFirst
from repositories.engine.browse.looking import entry_at
from repositories.engine.display import show_path
from repositories.engine.errors import ConfigurationError, IntegrityError, ObjectMissingError
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.manifest.entry_reader import read_below, read_directory
from repositories.engine.restore.chunks import AnyChunks

_READERS: Final = 2


def dumped_object(source: AnyChunks, backup: Backup, path: bytes) -> tuple[bytes, Entry | None]:
    """Return the path (relative to the source) and entry that a dump of `path` is about.

    For a source that is a single file, "" is that file. None is a top directory that nothing is known about. Raises
    ConfigurationError when the path is not in the backup.
    """
    entry = entry_at(source, backup, path)
    if not path and entry is None and backup.root.statistics.entries == 1:
        for only in read_directory(source, backup.root.pages, b""):
            return only.name, only
    return path, entry


def dump_file(source: AnyChunks, path: bytes, entry: Entry | None, emit: Emit, span: range | None = None) -> Dumped:
    """Put out the bytes of a regular file, or those in `span`, which lies within it.

    Raises ConfigurationError for anything else, IntegrityError.
    """
    if entry is None or entry.type != EntryType.FILE:
        raise ConfigurationError(f"{show_path(path or b'.')} is no regular file", hint="dump it with --format tar")
    done, wanted = Dumped(members=1), range(entry.size) if span is None else span
    try:
        with ThreadPoolExecutor(_READERS, "syncova-read") as readers:
            for length, data in Contents(source, entry, readers).part(wanted):
                if data is None:
                    emit_zeros(emit, length)
                else:
                    emit(data)
                done.written += length
    except (IntegrityError, ObjectMissingError) as error:
        told = f"{done.written:,} of {wanted.stop - wanted.start:,} bytes were put out"
        raise IntegrityError(
            f"{show_path(path)} cannot be read whole: {error.message}; {told}",
            hint="check shows what is damaged; another backup may hold it whole",
        ) from error
    return done


def dump_archive(source: AnyChunks, backup: Backup, path: bytes, emit: Emit, *, skip_damaged: bool = False) -> Dumped:
    """Put out a tar archive of what lies at `path` and below; names in it are relative to the source.

    Raises IntegrityError at the first thing that is damaged, unless such are to be left out: then they are counted in
    the result. Raises ConfigurationError when the path is not in the backup. Whatever is raised, the archive is
    unfinished.
    """
    path, entry = dumped_object(source, backup, path)
    with ThreadPoolExecutor(_READERS, "syncova-read") as readers:
        archive = Archive(source, emit, readers, skip_damaged=skip_damaged)
        try:
            _fill(archive, (source, backup), path, entry, skip_damaged=skip_damaged)
        except BaseException:
            with contextlib.suppress(Exception):
                archive.break_off()
            raise
        archive.finish()
    return archive.done


def _fill(
    archive: Archive, of: tuple[AnyChunks, Backup], path: bytes, entry: Entry | None, *, skip_damaged: bool
) -> None:
    source, backup = of
    if entry is not None:
        archive.add(path, entry)
    if entry is not None and not entry.is_directory:
        return
    order = DepthFirst(path, lambda: archive.done.damaged > 0)
    lost = archive.done.leave_out if skip_damaged else None
    for below, each in order.run(read_below(source, backup.root.pages, path, lost)):
        archive.add(below, each)
