"""Makes the entry of each object that a walk meets: taken from the parent, or read.

Owns the decision between both, and the figures. Source errors become problems here; repository errors pass through.
"""

import os
import stat
from collections.abc import Callable

import msgspec

from repositories.engine.backup.begun import Begun
from repositories.engine.backup.capture import Content, Other, file_entry, other_entry, store_xattrs
from repositories.engine.backup.compare import Comparison
from repositories.engine.backup.content import FileReader
from repositories.engine.backup.hard_links import HardLinks
from repositories.engine.backup.mount_watch import MOUNT_FLAGS, MountWatch
from repositories.engine.backup.options import Hooks
from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.backup.pulse import Pulse
from repositories.engine.backup.rereading import Rereading
from repositories.engine.backup.session import BackupSession
from repositories.engine.backup.standing import Held
from repositories.engine.display import show_bytes
from repositories.engine.manifest.entries import FLAG_LACKING, Entry, EntryType, Xattr, encode, entry_type
from repositories.engine.manifest.known_pages import Found
from repositories.engine.manifest.problems import (
    REGULAR_FILE,
    SYMBOLIC_LINK,
    ProblemKind,
    classify,
    reason_of,
)
from repositories.engine.metadata.extended import object_in, read_xattrs
from repositories.engine.source.directory import Listing
from repositories.engine.source.files import unchanged_since
from repositories.engine.source.status import Status

LinkGroup = tuple[int, int]

CHANGED_BEHIND = "its content changed behind equal times: rot, or times that were set back; stored as it is now"


class Figures(msgspec.Struct):
    """What has been described so far."""

    files: int = 0
    directories: int = 0
    links: int = 0
    others: int = 0
    logical_bytes: int = 0
    unchanged_files: int = 0


class Workshop(msgspec.Struct, frozen=True):
    """The parts that describing needs, made once per backup.

    With `goes_on` one name of a file may be known and the next one not: what is known of it is then kept for that one.
    """

    session: BackupSession
    reader: FileReader
    comparison: Comparison
    problems: ProblemLog
    pulse: Pulse
    hooks: Hooks
    mounts: MountWatch
    goes_on: bool = False
    rereading: Rereading | None = None


class Describer:
    """Describes one object after the other, in the order of the walk."""

    def __init__(self, workshop: Workshop) -> None:
        self._session = workshop.session
        self._reader = workshop.reader
        self._comparison = workshop.comparison
        self._problems = workshop.problems
        self._pulse = workshop.pulse
        self._clock = workshop.hooks.clock
        self._mounts = workshop.mounts
        self._goes_on = workshop.goes_on
        self._rereading = workshop.rereading
        self._links = HardLinks()
        self.figures = Figures()

    @property
    def takes(self) -> Callable[[Entry, Status], bool] | None:
        """What tells of nearly all objects that they are taken as they are known; None if each has to be described.

        Whoever asks it counts them by `take`.
        """
        return self._comparison.is_same_file if self._rereading is None else None

    def take(self, files: int, size: int) -> tuple[int, int]:
        """Count files that are taken as they are known, and their bytes; return what is left to be counted: nothing."""
        figures = self.figures
        figures.files += files
        figures.unchanged_files += files
        figures.logical_bytes += size
        self._pulse.files += files
        return 0, 0

    def describe(self, directory: Listing, name: bytes, status: Status, found: Found | None) -> bytes | Found | None:
        """Return the encoded entry of an object, `found` to take that one, None when it is not to be in the backup."""
        kind = entry_type(status.st_mode)
        if kind is None:
            known = ProblemKind.SOCKET if stat.S_ISSOCK(status.st_mode) else ProblemKind.UNKNOWN_TYPE
            self._problems.report(known, directory.join(name), "")
            return None
        group = self._links.group(status) if status.st_nlink > 1 and kind is not EntryType.DIRECTORY else None
        place = 0 if kind is not EntryType.DIRECTORY else self._mounts.look(directory, name, status, found)
        if found is not None and (kind is not EntryType.DIRECTORY or found[0].flags & MOUNT_FLAGS == place):
            entry = self._comparison.exact(found, kind, status, group)
            if entry is not None and (self._rereading is None or not self._to_reread(directory, name, status, group)):
                self._count(kind, entry.size, status, group, unchanged=True)
                self._keep_known(entry, status, group)
                return found
        if directory.content is None:
            again = directory.again(name, status)
            if again is None:
                return None
            status, group = again, None if kind is EntryType.DIRECTORY else self._links.group(again)
        try:
            if kind is EntryType.FILE:
                return self._file(directory, name, status, (found, group))
            now = self._clock.now_ns()
            return self._other(directory, name, status, Other(kind, status, now, None, None, group, flags=place))
        except OSError as error:
            # Nothing else is opened or read here.
            was = SYMBOLIC_LINK if kind is EntryType.LINK else REGULAR_FILE
            self._problems.report(classify(error), directory.join(name), reason_of(error, was))
            return None

    def top(self, descriptor: int, status: Status) -> Entry:
        """Return the entry of the source's root directory."""
        xattrs, lacking = self._xattrs(descriptor, b"")
        return other_entry(b".", Other(EntryType.DIRECTORY, status, self._clock.now_ns(), xattrs, lacking=lacking))

    def held(self) -> Held:
        """Return what has been described, in short."""
        figures = self.figures
        others = figures.links + figures.others
        return Held(figures.files, figures.directories, others, figures.logical_bytes)

    def _file(
        self,
        directory: Listing,
        name: bytes,
        status: Status,
        known: tuple[Found | None, LinkGroup | None],
    ) -> bytes:
        found, group = known
        content = self._links.content(status) if group is not None else None
        if content is None and found is not None:
            same = self._comparison.same_content(found, status)
            if same is not None and self._to_reread(directory, name, status, group):
                return self._reread(directory, name, status, (same, group))
            if same is not None:
                return self._unchanged(directory, name, status, (same, group))
        if content is None:
            try:
                content = self._read(directory, name, self._comparison.begun(found))
            except PermissionError:
                if status.st_size or not directory.tells_sizes(status):
                    raise
                # Nothing in it to be read: it is in, whole.
                self._count(EntryType.FILE, 0, status, group, unchanged=False)
                return encode(self._renewed(directory, name, status, None, group))
        return self._taken(name, content, status, group)

    def _read(self, directory: Listing, name: bytes, begun: Begun | None = None) -> Content:
        if directory.content is not None and begun is None:
            return self._reader.keep(directory.content)
        content, failure = self._reader.read(directory.descriptor, name, begun)
        if content.changed:
            self._problems.report(ProblemKind.STILL_CHANGING, directory.join(name), _changing(content))
        self._attributes_failed(failure, directory.join(name))
        return content

    def _taken(self, name: bytes, content: Content, status: Status, group: LinkGroup | None) -> bytes:
        """Return the entry of a file as it was read."""
        self._count(EntryType.FILE, content.size, status, group, unchanged=False)
        if group is not None:
            self._links.keep(content)
        return encode(file_entry(name, content, group))

    def _unchanged(
        self, directory: Listing, name: bytes, status: Status, known: tuple[Entry, LinkGroup | None]
    ) -> bytes:
        """Return the entry of a file whose content is taken from an earlier one."""
        same, group = known
        entry = self._renewed(directory, name, status, same, group)
        self._count(EntryType.FILE, entry.size, status, group, unchanged=True)
        self._keep_known(entry, status, group)
        return encode(entry)

    def _to_reread(self, directory: Listing, name: bytes, status: Status, group: LinkGroup | None) -> bool:
        rereading = self._rereading
        if rereading is None or not status.st_size or not stat.S_ISREG(status.st_mode):
            return False
        return rereading.wants(directory.join(name), group)

    def _reread(self, directory: Listing, name: bytes, status: Status, known: tuple[Entry, LinkGroup | None]) -> bytes:
        """Return the entry of a file that seems unchanged and was read nevertheless."""
        same, group = known
        path = directory.join(name)
        try:
            content = self._read(directory, name)
            differs = self._rereading is not None and self._rereading.differs(directory.descriptor, name, content, same)
        except OSError as error:
            kind = classify(error)
            if kind not in (ProblemKind.IO_ERROR, ProblemKind.PERMISSION):
                raise
            # An earlier backup has it, and nothing else says that it changed: it stays in as it was.
            reason = error.strerror or str(error)
            self._problems.report(ProblemKind.NOT_READ_AGAIN, path, f"{reason}; kept as it was backed up before")
            return self._unchanged(directory, name, status, known)
        if differs or content.changed:
            if not content.changed and unchanged_since(status, content.status):
                self._problems.report(ProblemKind.CONTENT_CHANGED, path, CHANGED_BEHIND)
            return self._taken(name, content, status, group)
        entry = self._unchanged(directory, name, status, known)
        if group is not None:
            self._links.keep(content)
        return entry

    def _keep_known(self, entry: Entry, status: Status, group: LinkGroup | None) -> None:
        """Let the other names of a file have the content that an earlier try read under this one."""
        if group is not None and self._goes_on and entry.type == EntryType.FILE:
            now = self._clock.now_ns()
            content = Content(status, entry.size, entry.extents, entry.stream, entry.xattrs, now, changed=False)
            self._links.keep(msgspec.structs.replace(content, lacking=bool(entry.flags & FLAG_LACKING)))

    def _renewed(
        self, directory: Listing, name: bytes, status: Status, same: Entry | None, group: LinkGroup | None
    ) -> Entry:
        """Return an entry with the content of `same` (None: empty) and today's metadata."""
        xattrs, lacking = self._xattrs(object_in(directory.descriptor, name), directory.join(name))
        now = self._clock.now_ns()
        fresh = other_entry(name, Other(EntryType.FILE, status, now, xattrs, None, group, lacking))
        if same is None:
            return fresh
        return msgspec.structs.replace(fresh, extents=same.extents, stream=same.stream)

    def _other(self, directory: Listing, name: bytes, status: Status, other: Other) -> bytes:
        target = None
        if other.kind is EntryType.LINK:
            target = os.readlink(name, dir_fd=directory.descriptor)
        xattrs, lacking = self._xattrs(object_in(directory.descriptor, name), directory.join(name))
        self._count(other.kind, 0, status, other.link_group, unchanged=False)
        return encode(other_entry(name, msgspec.structs.replace(other, xattrs=xattrs, target=target, lacking=lacking)))

    def _xattrs(self, target: int | bytes, path: bytes) -> tuple[tuple[Xattr, ...] | None, bool]:
        """Return the attributes, and whether some could not be read."""
        found, failure = read_xattrs(target)
        self._attributes_failed(failure, path)
        return store_xattrs(self._session, found), failure is not None

    def _attributes_failed(self, failure: OSError | None, path: bytes) -> None:
        if failure is not None:
            self._problems.report(ProblemKind.ATTRIBUTE, path, failure.strerror or str(failure))

    def _count(self, kind: EntryType, size: int, status: Status, group: LinkGroup | None, *, unchanged: bool) -> None:
        figures = self.figures
        if kind is EntryType.FILE:
            figures.files += 1
            self._pulse.files += 1
            figures.unchanged_files += unchanged
            if group is None or self._links.meet(status):
                figures.logical_bytes += size
        elif kind is EntryType.DIRECTORY:
            figures.directories += 1
        elif kind is EntryType.LINK:
            figures.links += 1
        else:
            figures.others += 1


def _changing(content: Content) -> str:
    if content.status.st_size or not content.size:
        return "changed in each of 3 tries"
    return f"its size says that it is empty; the first {show_bytes(content.size)} that it gave are in the backup"
