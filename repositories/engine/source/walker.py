"""Walks a source in manifest order: each directory's listing whole and sorted, directories depth-first.

Owns what is entered and what is left out (excludes, caches, other and pseudo file systems, Syncova's own data). Opens
no file but the tags of caches. Iterative and by descriptors: neither depth nor path length has a limit of its own.
Memory: the names of one directory and the directories still to enter on the way down.
"""

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
from repositories.engine.source.excludes import ExcludeRules
from repositories.engine.source.filesystems import FileSystems
from repositories.engine.source.mounts import mounts_below
from repositories.engine.source.root import SourceRoot

ReportProblem = Callable[[ProblemKind, bytes, str], None]
"""Told of everything that is left out or in doubt: kind, path relative to the source, detail.

Of what is left out by a rule, the detail is the rule's number.
"""

ChooseNames = Callable[[bytes, list[bytes]], list[bytes]]
"""Told a directory's path and the names in it; returns those that the walk shall look at."""

_NOTHING: frozenset[bytes] = frozenset()
_ENCODING = sys.getfilesystemencoding()
_ENCODE_ERRORS = sys.getfilesystemencodeerrors()
_PIECE = 4096
_FORMAT = stat.S_IFMT(0o177777)
_DIRECTORY = stat.S_IFDIR


class WalkRules(msgspec.Struct, frozen=True):
    """What a walk leaves out. `own` holds (st_dev, st_ino) of the repository and of Syncova's data.

    With `exclude_caches`, of a directory below the root that is tagged as a cache only the tag is kept.
    """

    excludes: ExcludeRules
    one_file_system: bool
    own: frozenset[tuple[int, int]]
    file_systems: FileSystems
    exclude_caches: bool = False


class Directory:
    """One directory while the walk stands in it: `descriptor` is valid until the walk goes on.

    `mounts` are the names on which something was mounted when the walk began.
    """

    __slots__ = ("_names", "_walker", "below", "descriptor", "device", "mounts", "path")

    def __init__(self, walker: "Walker", path: bytes, descriptor: int, device: int, names: list[bytes]) -> None:
        self._walker = walker
        self.path = path
        self.descriptor = descriptor
        self.device = device
        self._names = names
        self.mounts = walker.mounts.get(path, _NOTHING)
        self.below: list[bytes] = []

    def items(self) -> Iterator[tuple[bytes, os.stat_result]]:
        """Yield (name, lstat) of what belongs into the backup, sorted; must be run to its end before walking on."""
        admit = self._walker.admit
        descriptor, device = self.descriptor, self.device
        plain = not self._walker.rules.excludes
        previous = b""
        for name in self._names:
            if name == previous:
                self._walker.report(ProblemKind.DUPLICATE_NAME, self.join(name), "listed twice by its file system")
                continue
            previous = name
            try:
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except OSError as error:
                self._walker.failed(error, self.join(name))
                continue
            # Nothing decides about an ordinary object, then: it is asked for in a word, and has no directory's mode.
            is_ordinary = plain and status.st_mode & _FORMAT != _DIRECTORY and status.st_dev == device
            if (is_ordinary and len(name) <= NAME_LIMIT) or admit(self, name, status):
                yield name, status

    def is_to_be_entered(self, name: bytes) -> bool:
        """Return whether the walk will enter the directory that `items` gave last."""
        return bool(self.below) and self.below[-1] == name

    def tells_sizes(self, status: os.stat_result) -> bool:
        """See FileSystems.tells_sizes."""
        return self._walker.rules.file_systems.tells_sizes(status.st_dev)

    def join(self, name: bytes) -> bytes:
        """Return the path of one of its entries, relative to the source."""
        return self.path + b"/" + name if self.path else name


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
        self._descent = Descent(root.descriptor)
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

    def close(self) -> None:
        """Close all descriptors."""
        self._descent.close()

    def directories(self) -> Iterator[Directory]:
        """Yield directories in manifest order; each one's `items` must be used up before the next is taken.

        Raises SourceError when the root itself cannot be listed, or lies on a file system that the kernel makes up.
        """
        first = self._open_first()
        yield first
        path = b""
        pending = [first.below[::-1]]
        lengths: list[int] = []
        while pending:
            if not pending[-1]:
                pending.pop()
                if pending:
                    self._descent.up()
                    path = path[: lengths.pop()]
                continue
            name = pending[-1].pop()
            below = path + b"/" + name if path else name
            directory = self._enter(below, name)
            if directory is None:
                continue
            lengths.append(len(path))
            path = below
            yield directory
            pending.append(directory.below[::-1])

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
            if name in directory.mounts:
                # A part of the same file system, bound here: only the directory itself tells it from what lies below.
                self._mounted[directory.join(name)] = device, status.st_ino
            return True
        if self.rules.one_file_system:
            self.report(ProblemKind.OTHER_FILE_SYSTEM, directory.join(name), "")
            return False
        if self.rules.file_systems.is_pseudo(device):
            self.report(ProblemKind.PSEUDO_FILE_SYSTEM, directory.join(name), "")
            return False
        # Over a network, the inode of what is mounted may be known only when it is entered.
        self._mounted[directory.join(name)] = device, None
        return True

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
            descriptor = self._descent.down(name)
        except OSError as error:
            self.failed(error, path)
            return None
        identity = self._descent.identity
        if self._mounted and not self._is_still_mounted(path, identity):
            # What is there now is the empty place where it was mounted.
            self._descent.up()
            self.report(ProblemKind.TYPE_CHANGED, path, "its file system was unmounted")
            return None
        if identity in self.rules.own:
            self._descent.up()
            self.report(ProblemKind.OWN_DATA, path, "Syncova's own data")
            return None
        try:
            names = list_names(descriptor)
        except OSError as error:
            self.failed(error, path)
            names = _names_until_failure(descriptor)
        if self.rules.exclude_caches and is_tagged(descriptor, names):
            self.report(ProblemKind.CACHE_DIRECTORY, path, "")
            names = [TAG]
        return self._directory(path, descriptor, identity[0], names)

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
