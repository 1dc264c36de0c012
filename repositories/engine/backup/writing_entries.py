"""The loop of a backup: each object of the walk beside what is known of it, taken as it is or described.

Owns the way of nearly all objects, which is short: of a million files each microsecond here is a second. What is
decided about an object is `describe`'s and `compare`'s.
"""

from repositories.engine.backup.describe import Describer
from repositories.engine.backup.known import KnownEntries
from repositories.engine.backup.pulse import ENTRIES_BETWEEN, Pulse
from repositories.engine.backup.session import BackupSession
from repositories.engine.errors import IntegrityError
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.source.ahead import AheadWalk
from repositories.engine.source.directory import Listing

Sinks = tuple[EntryWriter, Pulse, BackupSession]


def write_entries(walk: AheadWalk, describer: Describer, known: KnownEntries, sinks: Sinks) -> None:
    """Write the entries of all that the walk meets. Raises what ends a backup; everything else becomes a problem."""
    writer, pulse, session = sinks
    coming: set[bytes] = set()
    for directory in walk.directories():
        pulse.current = directory.path
        if directory.path and directory.path not in coming:
            raise IntegrityError(f"directory {directory.path[:80]!r} is listed, and has no entry")
        coming.discard(directory.path)
        writer.open_directory(directory.path)
        known.enter(directory.path)
        _write_listing(directory, describer, known, (writer, pulse))
        coming.update(map(directory.join, directory.below))
        pulse.bytes_stored = session.stored_bytes


def _write_listing(
    directory: Listing, describer: Describer, known: KnownEntries, sinks: tuple[EntryWriter, Pulse]
) -> None:
    writer, pulse = sinks
    find, takes, take = known.find, describer.takes, writer.take
    files = size = 0
    for name, status in directory.items():
        found = find(name)
        if found is not None and takes is not None and takes(found[0], status):
            take(name, found)
            files += 1
            size += status.st_size
            if files == ENTRIES_BETWEEN:
                files, size = describer.take(files, size)
                pulse.passed(ENTRIES_BETWEEN)
            continue
        # Counted before anybody looks at what was counted.
        files, size = describer.take(files, size)
        pulse.entry()
        made = describer.describe(directory, name, status, found)
        if isinstance(made, bytes):
            writer.add(name, made)
        elif made is not None:
            take(name, made)
        else:
            directory.leave_out(name)
    describer.take(files, size)
    pulse.passed(files)
