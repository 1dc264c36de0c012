"""Second pass of a restore: hard links, then the attributes of directories, each after all that lies below it.

Owns which directories get attributes: those that a restore made or had to change, and others only when overwriting
was asked for.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.manifest.entries import Entry, EntryType, decode_entry
from repositories.engine.manifest.order import join, split
from repositories.engine.manifest.same_file import file_key
from repositories.engine.metadata.apply import apply_to_descriptor
from repositories.engine.metadata.extended import remove_xattr
from repositories.engine.restore.chunks import AnyChunks
from repositories.engine.restore.collisions import Collisions
from repositories.engine.restore.directories import Directories
from repositories.engine.restore.filling import FileTask, attributes_of
from repositories.engine.restore.left_out import LeftOut
from repositories.engine.restore.objects import ObjectMaker
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.request import Overwrite
from repositories.engine.restore.same_xattrs import foreign_xattrs
from repositories.engine.restore.selection import Selected
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import TargetTree, is_unfinished
from repositories.engine.restore.widened import Widened
from repositories.engine.restore.writing import FileWriter
from repositories.engine.source.descent import DIRECTORY_FLAGS


@dataclass(frozen=True, slots=True)
class Makers:
    """What makes objects in this pass."""

    source: AnyChunks
    objects: ObjectMaker
    directories: Directories
    files: FileWriter
    tally: Tally
    widened: Widened
    collisions: Collisions
    left_out: LeftOut


@dataclass(slots=True)
class _Level:
    path: bytes
    directories: list[tuple[msgspec.Raw, bool]] = field(default_factory=list)


class SecondPass:
    """Runs once over the selection, after the first pass."""

    def __init__(
        self, makers: Makers, overwrite: Overwrite, first_names: Mapping[bytes, bytes], pulse: RestorePulse
    ) -> None:
        self._makers = makers
        self._overwrite = overwrite
        self._first_names = dict(first_names)
        self._pulse = pulse
        self._levels: list[_Level] = [_Level(b"")]
        self._tree: TargetTree | None = None

    def run(self, root: int, selection: Iterable[Selected]) -> None:
        """Finish everything below the target; takes over the descriptor `root`."""
        tree = self._tree = TargetTree(root, self._leave)
        try:
            for selected in selection:
                self._pulse.entry(selected.directory)
                if self._makers.collisions.holds(selected.directory):
                    continue  # another directory is met at its name
                try:
                    tree.go(selected.directory)
                except OSError as error:
                    self._makers.left_out.gone(selected.directory, error)
                    continue
                self._visit(tree, selected)
            while tree.depth:
                tree.up()
            self._leave()
        finally:
            tree.close()

    def _visit(self, tree: TargetTree, selected: Selected) -> None:
        while len(self._levels) <= tree.depth:
            self._levels.append(_Level(b""))
        level = self._levels[tree.depth]
        level.path = selected.directory
        for entry, raw in selected.entries:
            if entry.type == EntryType.DIRECTORY:
                if not self._makers.collisions.holds(join(selected.directory, entry.name)):
                    level.directories.append((raw, entry.name in selected.above))
            elif entry.link_group is not None:
                self._link(tree.descriptor, join(selected.directory, entry.name), entry)

    def _link(self, directory: int, path: bytes, entry: Entry) -> None:
        key = file_key(entry)
        first = self._first_names.get(key) if key is not None else None
        if key is None or first is None or first == path or self._collides(directory, path):
            return
        self._make_further(first, directory, path, entry)
        names = self._makers.collisions.again(split(path)[0])
        if names is not None:
            names.took(directory, entry.name)
        if not self._makers.tally.may_link_to(first):
            self._first_names[key] = path

    def _make_further(self, first: bytes, directory: int, path: bytes, entry: Entry) -> None:
        """Make a further name of the file at `first`."""
        if self._makers.tally.may_link_to(first) and self._link_to(first, directory, path, entry):
            return
        around = self._makers.directories.around(directory, split(path)[0])
        if entry.type == EntryType.FILE:
            self._makers.files.write(FileTask(directory, path, entry, around))
        else:
            self._makers.objects.make(directory, path, entry, around)

    def _collides(self, directory: int, path: bytes) -> bool:
        """Count a further name of a file that the target takes for another of its directory."""
        parent, name = split(path)
        names = self._makers.collisions.again(parent)
        if names is None:
            return False
        try:
            rival = names.rival(directory, name)
        except OSError:
            return False  # told when it is made
        if rival is not None:
            self._makers.collisions.note(path, rival, is_directory=False)
        return rival is not None

    def _link_to(self, first: bytes, directory: int, path: bytes, entry: Entry) -> bool:
        assert self._tree is not None  # noqa: S101 — set before anything is visited
        parent, name = split(first)
        try:
            opened = self._tree.open_beside(parent)
        except OSError:
            return False
        try:
            around = self._makers.directories.around(directory, split(path)[0])
            return self._makers.objects.link((opened, name), directory, path, entry, around)
        finally:
            os.close(opened)

    def _leave(self) -> None:
        """Set the attributes of the directories in the one that is being left: all below them is done."""
        tree = self._tree
        if tree is None or len(self._levels) <= tree.depth:
            return
        level = self._levels[tree.depth]
        directories, level.directories = level.directories, []
        for raw, above in directories:
            self._finish(tree.descriptor, level.path, decode_entry(raw), above=above)
        del self._levels[tree.depth + 1 :]

    def _finish(self, parent: int, parent_path: bytes, entry: Entry, *, above: bool) -> None:
        try:
            descriptor = os.open(entry.name, DIRECTORY_FLAGS, dir_fd=parent)
        except OSError as error:
            self._makers.left_out.gone(join(parent_path, entry.name), error)
            return
        try:
            self.finish_directory(descriptor, entry, join(parent_path, entry.name), above=above)
        finally:
            os.close(descriptor)

    def finish_directory(self, descriptor: int, entry: Entry, path: bytes, *, above: bool) -> None:
        """Set an open directory's attributes, if they are ours to set."""
        status = os.fstat(descriptor)
        before = self._makers.widened.take(path)
        ours = is_unfinished(status) or path in self._makers.tally.unmarked
        may_set = self._makers.directories.may_set(path, ours=ours)
        overwriting = self._overwrite is not Overwrite.NEVER and not above
        if not (ours or (overwriting and may_set)):
            if before is not None:
                os.chmod(descriptor, before)
            return
        try:
            attributes = attributes_of(self._makers.source, entry)
        except (IntegrityError, ObjectMissingError):
            self._makers.tally.damaged(path)
            return
        # Those that are ours, too: one that was there before is marked as soon as something is made in it.
        for name in foreign_xattrs(descriptor, status, entry):
            with contextlib.suppress(OSError):
                remove_xattr(descriptor, name)
        apply_to_descriptor(descriptor, attributes, self._makers.tally.reporter(descriptor, path))
