"""First pass of a restore: makes everything but hard links and the attributes of directories.

Owns the walk over what is selected and into the target. Leavings of a killed restore go before anything is made in
their directory: they may take up the room that is needed. A directory that the manifest did not make as one, or that
something else keeps us out of, is never entered.
"""

from collections.abc import Iterable, Iterator

from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.manifest.order import join
from repositories.engine.manifest.same_file import file_key
from repositories.engine.restore.collisions import Names
from repositories.engine.restore.directories import Surroundings
from repositories.engine.restore.finishing import Makers
from repositories.engine.restore.leavings import Prepare
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.selection import Selected
from repositories.engine.restore.target import TargetTree
from repositories.engine.restore.windows import Windows


class FirstPass:
    """Runs once over the selection."""

    def __init__(self, makers: Makers, windows: Windows, pulse: RestorePulse) -> None:
        self._maker = makers.objects
        self._directories = makers.directories
        self._collisions = makers.collisions
        self._windows = windows
        self._tally = makers.tally
        self._pulse = pulse
        self._left_out = makers.left_out
        self.first_names: dict[bytes, bytes] = {}

    def run(self, tree: TargetTree, selection: Iterable[Selected]) -> None:
        """Make everything; waits until all files are written."""
        for selected, last in _with_last(selection):
            if self._collisions.holds(selected.directory):
                self._collide_below(selected)
                continue
            if self._left_out.is_blocked(selected.directory):
                self._left_out.keep(selected)
                continue
            try:
                tree.go(selected.directory)
            except OSError as error:
                self._left_out.closed(selected, error)
                continue
            self._windows.enter()
            self._fill(tree.descriptor, selected, last=last)
        self._windows.finish()
        self._directories.leavings.clear_rest(tree.open_beside, self._prepare)

    def _fill(self, directory: int, selected: Selected, *, last: bool) -> None:
        around = self._directories.around(directory, selected.directory)
        self._directories.leavings.clear(directory, selected, around.before, last=last)
        names = self._collisions.enter(directory, selected.directory, partial=selected.partial)
        for entry, _ in selected.entries:
            path = join(selected.directory, entry.name)
            self._pulse.entry(path)
            above = entry.name in selected.above
            if names is None:
                self._place(directory, path, entry, around, above=above)
            else:
                self._place_apart(names, directory, path, entry, around, above=above)

    def _prepare(self, directory: int, path: bytes) -> Prepare:
        return self._directories.around(directory, path).before

    def _place_apart(
        self, names: Names, directory: int, path: bytes, entry: Entry, around: Surroundings, *, above: bool
    ) -> None:
        """As `_place`, where two names may be one; what was made is known before the next name is looked at."""
        if self._is_further(path, entry):
            names.needed = True
            return
        try:
            rival = names.rival(directory, entry.name)
        except OSError as error:
            self._tally.refused(directory, path, entry, error)
            return
        if rival is not None:
            self._collisions.note(path, rival, is_directory=entry.type == EntryType.DIRECTORY)
            return
        self._place(directory, path, entry, around, above=above, at_once=True)
        names.took(directory, entry.name)

    def _place(
        self,
        directory: int,
        path: bytes,
        entry: Entry,
        around: Surroundings,
        *,
        above: bool,
        at_once: bool = False,
    ) -> None:
        if entry.type == EntryType.DIRECTORY:
            if not self._maker.make_directory(directory, path, entry, around, above=above):
                self._left_out.block(path)
        elif self._is_further(path, entry):
            return
        elif entry.type == EntryType.FILE:
            self._windows.add(directory, path, entry, around, at_once=at_once)
        else:
            self._maker.make(directory, path, entry, around)

    def _is_further(self, path: bytes, entry: Entry) -> bool:
        """Return whether an object is a further name of one met before, which is left to the second pass."""
        key = file_key(entry)
        return key is not None and self.first_names.setdefault(key, path) != path

    def _collide_below(self, selected: Selected) -> None:
        for entry, _ in selected.entries:
            path = join(selected.directory, entry.name)
            self._pulse.entry(path)
            self._tally.collided_below(path)


def _with_last(selection: Iterable[Selected]) -> Iterator[tuple[Selected, bool]]:
    """Yield the parts of listings, each with whether no other part of its listing follows."""
    before: Selected | None = None
    for selected in selection:
        if before is not None:
            yield before, before.directory != selected.directory
        before = selected
    if before is not None:
        yield before, True
