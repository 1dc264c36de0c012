"""Makes what has no content: directories, symbolic links, FIFOs, devices, and hard links to what is there.

Owns creation on a directory's descriptor; nothing existing is followed. One thread.
"""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.metadata.apply import (
    AttributeClass,
    apply_to_link,
    apply_to_special,
    chmod_unopened,
    remove_inherited_acls,
)
from repositories.engine.metadata.extended import object_in
from repositories.engine.restore.chunks import AnyChunks
from repositories.engine.restore.existing import Policy, Verdict
from repositories.engine.restore.lacking import report_lacking
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import UNFINISHED_DIRECTORY, is_unfinished
from repositories.engine.restore.writing import attributes_of, raise_if_fatal, room_for, temporary_name

_DEVICE_TYPES = {EntryType.CHARACTER_DEVICE: stat.S_IFCHR, EntryType.BLOCK_DEVICE: stat.S_IFBLK}
_NO_LINKS = frozenset({errno.EPERM, errno.EMLINK, errno.EXDEV, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EACCES})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """About a directory of the target. `ours`: a restore made it and has not finished it. `inherits`: it gives ACLs."""

    ours: bool = False
    inherits: bool = False


class ObjectMaker:
    """Makes objects for one restore."""

    def __init__(self, source: AnyChunks, policy: Policy, tally: Tally) -> None:
        self._source = source
        self._policy = policy
        self._tally = tally

    def make(self, directory: int, path: bytes, entry: Entry, around: Surroundings) -> None:
        """Make a link, FIFO or device. What is identical already in an unfinished directory is ours, too."""
        try:
            self._make(directory, path, entry, around)
        except (IntegrityError, ObjectMissingError):
            self._tally.damaged(path)
        except OSError as error:
            raise_if_fatal(error)
            self._tally.failed(path, error)

    def make_directory(self, directory: int, path: bytes, entry: Entry, around: Surroundings) -> bool:
        """Make a directory or find it there; return whether it can be entered."""
        name = entry.name
        try:
            os.mkdir(name, UNFINISHED_DIRECTORY, dir_fd=directory)
            if around.inherits:
                remove_inherited_acls(object_in(directory, name))
                chmod_unopened(directory, name, UNFINISHED_DIRECTORY)
        except FileExistsError:
            return self._existing_directory(directory, path, entry)
        except OSError as error:
            raise_if_fatal(error)
            self._tally.failed(path, error)
            return False
        return self._made_directory(directory, path, entry)

    def link(self, first: tuple[int, bytes], directory: int, entry: Entry) -> bool:
        """Make `entry` a hard link to (directory, name) `first`; return False when it must be written by itself."""
        try:
            source = os.stat(first[1], dir_fd=first[0], follow_symlinks=False)
            return self._link(first, source, directory, entry)
        except OSError as error:
            raise_if_fatal(error)
            self._tally.warn(AttributeClass.HARD_LINK, error)
            return False

    def _make(self, directory: int, path: bytes, entry: Entry, around: Surroundings) -> None:
        attributes = attributes_of(self._source, entry)
        set_attributes = apply_to_link if entry.type == EntryType.LINK else apply_to_special
        name = entry.name
        try:
            _create(directory, name, entry)
        except FileExistsError:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            verdict = self._policy.judge(directory, entry, status)
            if verdict is Verdict.IDENTICAL:
                if around.ours:
                    set_attributes(directory, name, attributes, self._tally.warn)
                else:
                    report_lacking(object_in(directory, name), status, entry, self._tally.warn)
                self._tally.existing()
                return
            if verdict is Verdict.KEEP or not room_for(directory, name, status):
                self._tally.kept(path)
                return
            self._replace(directory, entry, lambda temporary: _create(directory, temporary, entry))
        if around.inherits and entry.type != EntryType.LINK:
            remove_inherited_acls(object_in(directory, name))
        set_attributes(directory, name, attributes, self._tally.warn)
        self._tally.restored(entry)

    def _made_directory(self, directory: int, path: bytes, entry: Entry) -> bool:
        self._tally.restored(entry)
        if not is_unfinished(os.stat(entry.name, dir_fd=directory, follow_symlinks=False)):
            # File systems without such modes do not keep the mark; what we made must be remembered then.
            self._tally.unmarked.add(path)
        return True

    def _existing_directory(self, directory: int, path: bytes, entry: Entry) -> bool:
        try:
            status = os.stat(entry.name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                self._tally.existing()
                _widen(directory, entry.name, status)
                return True
            if self._policy.judge(directory, entry, status) is Verdict.REPLACE:
                os.unlink(entry.name, dir_fd=directory)
                os.mkdir(entry.name, UNFINISHED_DIRECTORY, dir_fd=directory)
                return self._made_directory(directory, path, entry)
        except OSError as error:
            raise_if_fatal(error)
            self._tally.failed(path, error)
            return False
        self._tally.kept(path)
        return False

    def _link(self, first: tuple[int, bytes], source: os.stat_result, directory: int, entry: Entry) -> bool:
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
            if not room_for(directory, entry.name, status):
                return False
            self._replace(directory, entry, create)
        except OSError as error:
            if error.errno in _NO_LINKS:
                self._tally.warn(AttributeClass.HARD_LINK, error)
                return False
            raise
        self._tally.restored(entry)
        return True

    def _replace(self, directory: int, entry: Entry, create: Callable[[bytes], None]) -> None:
        temporary = temporary_name(entry.name)
        try:
            create(temporary)
        except FileExistsError:
            status = os.stat(temporary, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and not is_unfinished(status) and entry.link_group is None:
                raise
            os.unlink(temporary, dir_fd=directory)
            create(temporary)
        os.rename(temporary, entry.name, src_dir_fd=directory, dst_dir_fd=directory)


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


def _widen(directory: int, name: bytes, status: os.stat_result) -> None:
    """Let ourselves into a directory of our own that its mode keeps us out of; it counts as unfinished then."""
    if status.st_uid == os.geteuid() != 0 and status.st_mode & stat.S_IRWXU != stat.S_IRWXU:
        chmod_unopened(directory, name, UNFINISHED_DIRECTORY)
