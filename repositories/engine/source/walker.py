"""Walks a source in manifest order: each directory's listing whole and sorted, directories depth-first.

Owns what is entered and what is left out (excludes, caches, other and pseudo file systems, Syncova's own data). Opens
no file but the tags of caches. Iterative and by descriptors: neither depth nor path length has a limit of its own.
Memory: the names of one directory and the directories still to enter on the way down.
"""

import bisect
import os
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from repositories.engine.display import show_path
from repositories.engine.errors import SourceError
from repositories.engine.manifest.entries import NAME_LIMIT, PATH_LIMIT
from repositories.engine.manifest.problems import DIRECTORY, ProblemKind, classify, reason_of
from repositories.engine.source.cache_tags import TAG, is_tagged
from repositories.engine.source.descent import Descent
from repositories.engine.source.directory import Directory, Listing, ReportProblem
from repositories.engine.source.excludes import ExcludeRules
from repositories.engine.source.filesystems import FileSystems
from repositories.engine.source.mounts import mounts_below
from repositories.engine.source.root import SourceRoot
from repositories.engine.source.status import Status
from repositories.engine.source.way import Way

ChooseNames = Callable[[bytes, list[bytes]], list[bytes]]
"""Told a directory's path and the names in it; returns those that the walk shall look at."""

_ENCODING = sys.getfilesystemencoding()
_ENCODE_ERRORS = sys.getfilesystemencodeerrors()
_PIECE = 4096
_CACHE = [TAG]
"""What is looked at in a directory that is tagged as a cache."""


class WalkRules(msgspec.Struct, frozen=True):
    """What a walk leaves out. `own` holds (st_dev, st_ino) of the repository and of Syncova's data.

    With `exclude_caches`, of a directory below the root that is tagged as a cache only the tag is kept.
    """

    excludes: ExcludeRules
    one_file_system: bool
    own: frozenset[tuple[int, int]]
    file_systems: FileSystems
    exclude_caches: bool = False


class Walker:
    """One walk over an opened root. Owns the root's descriptor from the start; `close` when done.

    With `choose`, only a part of the tree is looked at: no backup, but the answer to what a backup would do there.
    """

    def __init__(
        self, root: SourceRoot, rules: WalkRules, report: ReportProblem, choose: ChooseNames | None = None
    ) -> None:
        self._root = root
        self.rules = rules
        self.report = report
        self.descent = Descent(root.descriptor)
        self.way = Way()
        self.mounts = {} if root.only is not None else mounts_below(root.path, root.descriptor)
        self._mounted: dict[bytes, tuple[int, int | None]] = {}
        self._choose = choose

    @property
    def is_directory(self) -> bool:
        """Whether the source is a directory, not a single file."""
        return self._root.only is None

    @property
    def descriptor(self) -> int:
        """The descriptor of the root directory (of a single file's directory)."""
        return self._root.descriptor

    @property
    def status(self) -> os.stat_result:
        """What fstat said about the root when it was opened."""
        return self._root.status

    @property
    def is_plain(self) -> bool:
        """Whether no rule leaves anything out."""
        return not self.rules.excludes

    def tells_sizes(self, device: int) -> bool:
        """See FileSystems.tells_sizes."""
        return self.rules.file_systems.tells_sizes(device)

    def close(self) -> None:
        """Close all descriptors."""
        self.descent.close()

    def directories(self) -> Iterator[Directory]:
        """Yield directories in manifest order; each one's `items` must be used up before the next is taken.

        Raises SourceError when the root itself cannot be listed, or lies on a file system that the kernel makes up.
        """
        first = self._open_first()
        yield first
        self.way.met(first.below)
        yield from self.onward()

    def onward(self) -> Iterator[Directory]:
        """Yield the directories that are still on the way. See `directories`."""
        way, descent = self.way, self.descent
        while (coming := way.coming()) is not None:
            while descent.depth > way.depth:
                descent.up()
            directory = self._enter(*coming)
            if directory is not None:
                way.enter(coming[0])
                yield directory
                way.met(directory.below)

    def rest(self, name: bytes, *, is_met: bool) -> Directory | None:
        """Return the directory that the way stands in, with the names from one on, or behind it if it `is_met`.

        For a walk that is gone on with in the middle. None, reported, when it cannot be opened any more.
        """
        path = self.way.path
        try:
            self.descent.go_to(path.split(b"/") if path else [])
        except OSError as error:
            self.failed(error, path)
            return None
        names = self._list(path, self.descent.descriptor)
        device = self.descent.identity[0]
        begin = (bisect.bisect_right if is_met else bisect.bisect_left)(names, name)
        return Directory(self, path, self.descent.descriptor, device, names[begin:])

    def failed(self, error: OSError, path: bytes) -> None:
        """Report a call that failed on a directory of the source, or on an object that is not known yet."""
        self.report(classify(error), path, reason_of(error, DIRECTORY))

    def admit(self, directory: Directory, name: bytes, status: os.stat_result) -> bool:
        """Return whether an object belongs into the backup; remembers directories that are to be entered."""
        is_directory = stat.S_ISDIR(status.st_mode)
        rules = self.rules
        if len(name) > NAME_LIMIT:
            self.report(ProblemKind.PATH_TOO_LONG, directory.join(name[:NAME_LIMIT]), "name over 1024 bytes")
            return False
        if (rules.excludes or not is_directory) and not self._wanted(
            directory, name, status, is_directory=is_directory
        ):
            return False
        if not is_directory:
            return True
        if (status.st_dev, status.st_ino) in rules.own:
            self.report(ProblemKind.OWN_DATA, directory.join(name), "Syncova's own data")
            return False
        if self._enterable(directory, name, status):
            directory.below.append(name)
        return True

    def _wanted(self, directory: Directory, name: bytes, status: os.stat_result, *, is_directory: bool) -> bool:
        rules = self.rules
        if rules.excludes:
            path = directory.join(name)
            rule = rules.excludes.decide(path, is_directory=is_directory)
            if rule is not None and rule.pattern.excludes:
                self.report(ProblemKind.EXCLUDED, path, str(rule.number))
                return False
        if status.st_dev != directory.device and not is_directory and rules.file_systems.is_pseudo(status.st_dev):
            self.report(ProblemKind.PSEUDO_FILE_SYSTEM, directory.join(name), "")
            return False
        return True

    def _enterable(self, directory: Directory, name: bytes, status: os.stat_result) -> bool:
        """Return whether to enter; the directory where something is mounted is kept, empty, in any case."""
        device = status.st_dev
        if device == directory.device:
            self.expect(directory, name, status)
            return True
        if self.rules.one_file_system:
            self.report(ProblemKind.OTHER_FILE_SYSTEM, directory.join(name), "")
            return False
        if self.rules.file_systems.is_pseudo(device):
            self.report(ProblemKind.PSEUDO_FILE_SYSTEM, directory.join(name), "")
            return False
        self.expect(directory, name, status)
        return True

    def expect(self, directory: Listing, name: bytes, status: Status) -> None:
        """Remember of a directory that is to be entered what is mounted on it now."""
        if status.st_dev != directory.device:
            # Over a network, the inode of what is mounted may be known only when it is entered.
            self._mounted[directory.join(name)] = status.st_dev, None
        elif name in directory.mounts:
            # A part of the same file system, bound here: only the directory itself tells it from what lies below.
            self._mounted[directory.join(name)] = status.st_dev, status.st_ino

    def was_entered(self, path: bytes) -> None:
        """Take note that another process has entered a directory."""
        self._mounted.pop(path, None)

    def _open_first(self) -> Directory:
        root = self._root
        if root.only is not None:
            return Directory(self, b"", root.descriptor, root.status.st_dev, [root.only])
        if self.rules.file_systems.is_pseudo(root.status.st_dev):
            raise SourceError(
                f"source {show_path(root.path)} lies on a file system that the kernel makes up",
                hint="give a directory of a real file system; a single file of this one may be given",
            )
        try:
            names = list_names(root.descriptor)
        except OSError as error:
            raise SourceError(f"the root of the source cannot be listed: {error.strerror}") from error
        return self._directory(b"", root.descriptor, root.status.st_dev, names)

    def _enter(self, path: bytes, name: bytes) -> Directory | None:
        if len(path) > PATH_LIMIT:
            self.report(ProblemKind.PATH_TOO_LONG, path[:NAME_LIMIT], "path over 256 KiB")
            return None
        try:
            descriptor = self.descent.down(name)
        except OSError as error:
            self.failed(error, path)
            return None
        identity = self.descent.identity
        if self._mounted and not self._is_still_mounted(path, identity):
            # What is there now is the empty place where it was mounted.
            self.descent.up()
            self.report(ProblemKind.TYPE_CHANGED, path, "its file system was unmounted")
            return None
        if identity in self.rules.own:
            self.descent.up()
            self.report(ProblemKind.OWN_DATA, path, "Syncova's own data")
            return None
        names = self._list(path, descriptor)
        if names is _CACHE:
            self.report(ProblemKind.CACHE_DIRECTORY, path, "")
        return self._directory(path, descriptor, identity[0], names)

    def _list(self, path: bytes, descriptor: int) -> list[bytes]:
        """Return the sorted names that are to be looked at in a directory."""
        try:
            names = list_names(descriptor)
        except OSError as error:
            self.failed(error, path)
            names = _names_until_failure(descriptor)
        return _CACHE if path and self.rules.exclude_caches and is_tagged(descriptor, names) else names

    def _is_still_mounted(self, path: bytes, identity: tuple[int, int]) -> bool:
        device, inode = self._mounted.pop(path, identity)
        return device == identity[0] and inode in (None, identity[1])

    def _directory(self, path: bytes, descriptor: int, device: int, names: list[bytes]) -> Directory:
        if self._choose is not None:
            names = self._choose(path, names)
        return Directory(self, path, descriptor, device, names)


def list_names(descriptor: int) -> list[bytes]:
    """Return the sorted names in a directory. Raises OSError."""
    # Text gives way to bytes piece by piece: a directory of a million names is not held twice.
    listed: list[Any] = os.listdir(descriptor)
    for start in range(0, len(listed), _PIECE):
        piece = listed[start : start + _PIECE]
        listed[start : start + _PIECE] = [name.encode(_ENCODING, _ENCODE_ERRORS) for name in piece]
    listed.sort()
    return listed


def _names_until_failure(descriptor: int) -> list[bytes]:
    names: list[bytes] = []
    try:
        with os.scandir(descriptor) as found:
            names.extend(os.fsencode(item.name) for item in found)
    except OSError:
        # What was listed before the failure is still worth having; the failure itself has been reported.
        return sorted(names)
    return sorted(names)
