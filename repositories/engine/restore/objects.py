"""Makes what has no content: directories, symbolic links, FIFOs, devices, and hard links to what is there.

Owns creation on a directory's descriptor; nothing existing is followed. One thread.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.manifest.entries import Entry, EntryType, entry_type
from repositories.engine.metadata.apply import (
    AttributeClass,
    Attributes,
    Fresh,
    apply_to_link,
    apply_to_special,
    remove_inherited_acls,
)
from repositories.engine.metadata.extended import object_in
from repositories.engine.restore.chunks import AnyChunks
from repositories.engine.restore.existing import Policy, Verdict
from repositories.engine.restore.lacking import report_lacking
from repositories.engine.restore.publishing import clear_leaving, clear_twin, publish, replace, temporary_name
from repositories.engine.restore.reasons import explained
from repositories.engine.restore.room import Room
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import UNFINISHED_DIRECTORY, is_unfinished
from repositories.engine.restore.widened import Widened
from repositories.engine.restore.writing import attributes_of, raise_if_fatal
from repositories.engine.source.descent import DIRECTORY_FLAGS

_DEVICE_TYPES = {EntryType.CHARACTER_DEVICE: stat.S_IFCHR, EntryType.BLOCK_DEVICE: stat.S_IFBLK}
_KINDS = {EntryType.LINK: stat.S_IFLNK, EntryType.FIFO: stat.S_IFIFO, **_DEVICE_TYPES}
_NO_LINKS = frozenset({errno.EPERM, errno.EMLINK, errno.EXDEV, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EACCES})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """About a directory of the target. `ours`: a restore made it and has not finished it. `inherits`: it gives ACLs."""

    ours: bool = False
    inherits: bool = False


class ObjectMaker:
    """Makes objects for one restore."""

    def __init__(self, source: AnyChunks, policy: Policy, tally: Tally, room: Room, widened: Widened) -> None:
        self._source = source
        self._policy = policy
        self._tally = tally
        self._room = room
        self._widened = widened

    def make(self, directory: int, path: bytes, entry: Entry, around: Surroundings) -> None:
        """Make a link, FIFO or device. What is identical already in an unfinished directory is ours, too."""
        try:
            self._make(directory, path, entry, around)
        except (IntegrityError, ObjectMissingError):
            self._tally.damaged(path)
        except OSError as error:
            self._failed(directory, path, entry, error)

    def make_directory(self, directory: int, path: bytes, entry: Entry, around: Surroundings) -> bool:
        """Make a directory or find it there; return whether it can be entered."""
        try:
            try:
                _make_directory(directory, entry.name, around)
            except FileExistsError:
                return self._existing_directory(directory, path, entry, around)
            return self._made_directory(directory, path, entry)
        except OSError as error:
            self._failed(directory, path, entry, error)
            return False

    def link(self, first: tuple[int, bytes], directory: int, path: bytes, entry: Entry) -> bool:
        """Make `path` a hard link to (directory, name) `first`; return False when it must be written by itself."""
        try:
            source = os.stat(first[1], dir_fd=first[0], follow_symlinks=False)
            if entry_type(source.st_mode) != entry.type:
                return False  # a tampered manifest may call objects of different types one group
            return self._link(first, source, directory, (path, entry))
        except OSError as error:
            raise_if_fatal(error)
            self._tally.warn(AttributeClass.HARD_LINK, error)
            return False

    def _failed(self, directory: int, path: bytes, entry: Entry, error: OSError) -> None:
        raise_if_fatal(error)
        self._tally.failed(path, explained(error, directory, entry.name))

    def _make(self, directory: int, path: bytes, entry: Entry, around: Surroundings) -> None:
        attributes = attributes_of(self._source, entry)

        def finished(name: bytes) -> None:
            _create(directory, name, entry)
            self._set_attributes(directory, name, entry, attributes, _fresh(entry, inherits=around.inherits))

        try:
            status = os.stat(entry.name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            if around.ours and entry.type == EntryType.LINK:
                finished(entry.name)  # what a kill leaves of it is finished by the next restore: its target is whole
            else:
                # Nothing marks such an object as unfinished: it gets its name when it is whole.
                with _temporary(directory, entry.name) as temporary:
                    finished(temporary)
                    publish(directory, temporary, entry.name)
            self._tally.restored(entry)
            return
        if self._must_replace(directory, path, entry, status, attributes if around.ours else None):
            with _temporary(directory, entry.name) as temporary:
                finished(temporary)
                replace(directory, temporary, path, self._room)
            self._tally.restored(entry)

    def _must_replace(
        self, directory: int, path: bytes, entry: Entry, status: os.stat_result, ours: Attributes | None
    ) -> bool:
        """Return whether what is there goes. What is identical gets the attributes `ours`, if they are given."""
        verdict = self._policy.judge(directory, entry, status)
        if verdict is Verdict.IDENTICAL:
            if ours is not None:
                self._set_attributes(directory, entry.name, entry, ours)
            else:
                report_lacking(object_in(directory, entry.name), status, entry, self._tally.warn)
            clear_twin(directory, entry.name, status)
            self._tally.existing()
            return False
        if verdict is Verdict.KEEP or not self._room.possible(directory, path, status):
            self._tally.kept(path)
            return False
        return True

    def _set_attributes(
        self, directory: int, name: bytes, entry: Entry, attributes: Attributes, fresh: Fresh | None = None
    ) -> None:
        apply = apply_to_link if entry.type == EntryType.LINK else apply_to_special
        apply(directory, name, attributes, self._tally.warn, fresh)

    def _made_directory(self, directory: int, path: bytes, entry: Entry) -> bool:
        self._tally.restored(entry)
        if not is_unfinished(os.stat(entry.name, dir_fd=directory, follow_symlinks=False)):
            # File systems without such modes do not keep the mark; what we made must be remembered then.
            self._tally.unmarked.add(path)
        return True

    def _existing_directory(self, directory: int, path: bytes, entry: Entry, around: Surroundings) -> bool:
        name = entry.name
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            self._tally.existing()
            self._widened.open_up(directory, path, name, status)
            return True
        if self._policy.judge(directory, entry, status) is not Verdict.REPLACE:
            self._tally.kept(path)
            return False
        self._room.make(directory, path)
        os.unlink(name, dir_fd=directory)
        _make_directory(directory, name, around)
        return self._made_directory(directory, path, entry)

    def _link(
        self, first: tuple[int, bytes], source: os.stat_result, directory: int, wanted: tuple[bytes, Entry]
    ) -> bool:
        path, entry = wanted

        def create(name: bytes) -> None:
            # Without follow_symlinks=False a hard link of a symbolic link would become one to its target.
            os.link(first[1], name, src_dir_fd=first[0], dst_dir_fd=directory, follow_symlinks=False)

        try:
            create(entry.name)
        except FileExistsError:
            status = os.stat(entry.name, dir_fd=directory, follow_symlinks=False)
            if (status.st_dev, status.st_ino) == (source.st_dev, source.st_ino):
                self._tally.existing()
                return True
            if self._policy.judge(directory, entry, status) is not Verdict.REPLACE:
                return False
            if not self._room.possible(directory, path, status):
                return False
            with _temporary(directory, entry.name) as temporary:
                create(temporary)
                replace(directory, temporary, path, self._room)
        except OSError as error:
            if error.errno in _NO_LINKS:
                self._tally.warn(AttributeClass.HARD_LINK, error)
                return False
            raise
        self._tally.restored(entry)
        return True


@contextlib.contextmanager
def _temporary(directory: int, name: bytes) -> Iterator[bytes]:
    """Give the free temporary name for `name`; nothing is left there when what is done with it fails."""
    temporary = temporary_name(name)
    clear_leaving(directory, temporary)
    try:
        yield temporary
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


def _make_directory(directory: int, name: bytes, around: Surroundings) -> None:
    os.mkdir(name, UNFINISHED_DIRECTORY, dir_fd=directory)
    if around.inherits:
        descriptor = os.open(name, DIRECTORY_FLAGS, dir_fd=directory)
        try:
            remove_inherited_acls(descriptor)
            os.chmod(descriptor, UNFINISHED_DIRECTORY)
        finally:
            os.close(descriptor)


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
