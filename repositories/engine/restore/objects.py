"""Makes what has no content: directories, symbolic links, FIFOs, devices, and hard links to what is there.

Owns creation on a directory's descriptor; nothing existing is followed. One thread.
"""

import os
import stat

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.manifest.entries import Entry, EntryType, entry_type
from repositories.engine.metadata.apply import (
    AttributeClass,
    Fresh,
    apply_to_link,
    apply_to_special,
)
from repositories.engine.metadata.extended import object_in
from repositories.engine.restore.chunks import AnyChunks
from repositories.engine.restore.directories import Directories, Surroundings
from repositories.engine.restore.existing import Policy, Verdict
from repositories.engine.restore.filling import attributes_of
from repositories.engine.restore.lacking import report_lacking
from repositories.engine.restore.linking import NO_LINKS, refusal_to_link
from repositories.engine.restore.publishing import publish, temporary_for
from repositories.engine.restore.reasons import explained
from repositories.engine.restore.room import Room
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import is_unfinished, make_directory
from repositories.engine.restore.writing import look, raise_if_fatal

_DEVICE_TYPES = {EntryType.CHARACTER_DEVICE: stat.S_IFCHR, EntryType.BLOCK_DEVICE: stat.S_IFBLK}
_KINDS = {EntryType.LINK: stat.S_IFLNK, EntryType.FIFO: stat.S_IFIFO, **_DEVICE_TYPES}


class ObjectMaker:
    """Makes objects for one restore."""

    def __init__(self, source: AnyChunks, policy: Policy, tally: Tally, room: Room, directories: Directories) -> None:
        self._source = source
        self._policy = policy
        self._tally = tally
        self._room = room
        self._directories = directories
        self._linking: set[int] = set()

    def make(self, directory: int, path: bytes, entry: Entry, around: Surroundings) -> None:
        """Make a link, FIFO or device."""
        try:
            self._make(directory, path, entry, around)
        except (IntegrityError, ObjectMissingError):
            self._tally.damaged(path)
        except OSError as error:
            self._failed(directory, path, entry, error)

    def make_directory(self, directory: int, path: bytes, entry: Entry, around: Surroundings, *, above: bool) -> bool:
        """Make a directory or find it there; return whether it can be entered.

        `above` = it is only the way to something that is restored.
        """
        try:
            status = look(directory, entry.name)
            if status is None:
                return self._new_directory(directory, path, entry, around)
            if stat.S_ISDIR(status.st_mode):
                self._directories.meet(directory, path, entry, status, above=above)
                return True
            return self._instead(directory, path, entry, status, around)
        except OSError as error:
            self._failed(directory, path, entry, error)
            return False

    def link(self, first: tuple[int, bytes], directory: int, path: bytes, entry: Entry, around: Surroundings) -> bool:
        """Make `path` a hard link to (directory, name) `first`, or keep an object of its own that is there, as asked.

        Return False when it must be judged and written by itself. What is warned of is what link(2) refused, alone.
        """
        try:
            source = os.stat(first[1], dir_fd=first[0], follow_symlinks=False)
            if entry_type(source.st_mode) != entry.type:
                return False  # a tampered manifest may call objects of different types one group
            return self._link(first, source, directory, (path, entry), around)
        except OSError as error:
            raise_if_fatal(error)
            return False  # the first name is gone, or this one may not be replaced: the writing tells

    def _failed(self, directory: int, path: bytes, entry: Entry, error: OSError) -> None:
        raise_if_fatal(error)
        self._tally.refused(directory, path, entry, explained(error, directory, entry.name))

    def _make(self, directory: int, path: bytes, entry: Entry, around: Surroundings) -> None:
        attributes = attributes_of(self._source, entry)
        status = look(directory, entry.name)
        if status is not None and not self._must_replace(directory, path, entry, status):
            return
        around.before(directory)
        with temporary_for(directory, entry.name) as temporary:
            _create(directory, temporary, entry)
            apply = apply_to_link if entry.type == EntryType.LINK else apply_to_special
            report = self._tally.reporter(directory, path)
            apply(directory, temporary, attributes, report, _fresh(entry, inherits=around.inherits))
            self._place(directory, temporary, path, replaces=status is not None)
        self._tally.restored(entry)

    def _place(self, directory: int, temporary: bytes, path: bytes, *, replaces: bool) -> None:
        if replaces:
            self._room.replace(directory, temporary, path)
        else:
            publish(directory, temporary, os.path.basename(path))

    def _must_replace(self, directory: int, path: bytes, entry: Entry, status: os.stat_result) -> bool:
        verdict = self._policy.judge(directory, entry, status)
        if verdict is Verdict.IDENTICAL:
            report_lacking(object_in(directory, entry.name), status, entry, self._tally.reporter(directory, path))
            self._tally.existing()
            return False
        if verdict is Verdict.KEEP or not self._room.possible(directory, path, status):
            self._tally.kept(path)
            return False
        return True

    def _new_directory(self, directory: int, path: bytes, entry: Entry, around: Surroundings) -> bool:
        around.before(directory)
        make_directory(directory, entry.name, inherits=around.inherits)
        self._tally.restored(entry)
        if not is_unfinished(os.stat(entry.name, dir_fd=directory, follow_symlinks=False)):
            # File systems without such modes do not keep the mark; what we made must be remembered then.
            self._tally.unmarked.add(path)
        return True

    def _instead(self, directory: int, path: bytes, entry: Entry, status: os.stat_result, around: Surroundings) -> bool:
        """Make a directory where something else is, if that may go."""
        if self._policy.judge(directory, entry, status) is not Verdict.REPLACE:
            self._tally.kept(path)
            return False
        around.before(directory)
        self._room.make(directory, path)
        os.unlink(entry.name, dir_fd=directory)
        return self._new_directory(directory, path, entry, around)

    def _link(
        self, first: tuple[int, bytes], source: os.stat_result, directory: int, wanted: tuple[bytes, Entry],
        around: Surroundings,
    ) -> bool:  # fmt: skip
        path, entry = wanted
        status = look(directory, entry.name)
        if status is not None and (status.st_dev, status.st_ino) == (source.st_dev, source.st_ino):
            self._tally.existing()
            return True
        unfinished = status is not None and around.is_half_written(status)
        if status is not None and not unfinished and not self._may_be_linked_over(directory, path, entry, status):
            return self._stays_apart(first, directory, path)
        around.before(directory)
        if status is None:
            linked = self._linked(first, directory, entry.name, path)
        else:
            with temporary_for(directory, entry.name) as temporary:
                linked = self._linked(first, directory, temporary, path)
                if linked:
                    self._room.replace(directory, temporary, path)
        if linked:
            self._tally.restored(entry)
        return linked

    def _stays_apart(self, first: tuple[int, bytes], directory: int, path: bytes) -> bool:
        """Count an object of its own that stays; return False where it could be no link, so that it is as it can be."""
        device = os.fstat(directory).st_dev
        if device not in self._linking:
            refusal = refusal_to_link(first, directory, os.path.basename(path))
            if refusal is not None:
                self._tally.warn(AttributeClass.HARD_LINK, refusal, directory, path)
                return False
            self._linking.add(device)
        self._tally.kept(path)
        return True

    def _linked(self, first: tuple[int, bytes], directory: int, name: bytes, path: bytes) -> bool:
        """Give the file `first` another name; return False, and warn, if the file system refuses."""
        try:
            # Without follow_symlinks=False a hard link of a symbolic link would become one to its target.
            os.link(first[1], name, src_dir_fd=first[0], dst_dir_fd=directory, follow_symlinks=False)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            self._tally.warn(AttributeClass.HARD_LINK, error, directory, path)
            return False
        return True

    def _may_be_linked_over(self, directory: int, path: bytes, entry: Entry, status: os.stat_result) -> bool:
        verdict = self._policy.judge(directory, entry, status)
        if verdict is Verdict.IDENTICAL:
            verdict = self._policy.judge_different(entry, status)
        return verdict is Verdict.REPLACE and self._room.possible(directory, path, status)


def _fresh(entry: Entry, *, inherits: bool) -> Fresh:
    """Return what must be found under the name of an object that was made for `entry`."""
    device = os.makedev(*entry.device) if entry.type in _DEVICE_TYPES and entry.device is not None else 0
    return Fresh(_KINDS[EntryType(entry.type)], device, inherits)


def _create(directory: int, name: bytes, entry: Entry) -> None:
    if entry.type == EntryType.LINK:
        if entry.target is None:
            raise IntegrityError("a link has no target", hint="run check")
        os.symlink(entry.target, name, dir_fd=directory)
    elif entry.type == EntryType.FIFO:
        os.mkfifo(name, 0o600, dir_fd=directory)
    elif entry.type in _DEVICE_TYPES and entry.device is not None:
        os.mknod(name, _DEVICE_TYPES[EntryType(entry.type)] | 0o600, os.makedev(*entry.device), dir_fd=directory)
    else:
        raise IntegrityError(f"an entry has type {entry.type}, which is not known", hint="use a newer Syncova")
