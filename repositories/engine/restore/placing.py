"""First pass of a restore: makes everything but hard links and the attributes of directories.

Owns the walk over what is selected and into the target. Leavings of a killed restore go before anything is made in
their directory: they may take up the room that is needed. A directory that the manifest did not make as one, or that
something else keeps us out of, is never entered.
"""

from collections.abc import Iterable, Iterator

from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.manifest.order import join, split
from repositories.engine.manifest.same_file import file_key
from repositories.engine.restore.directories import Directories, Surroundings
from repositories.engine.restore.leavings import Prepare
from repositories.engine.restore.objects import ObjectMaker
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.selection import Selected
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import TargetTree
from repositories.engine.restore.windows import Windows


class FirstPass:
    """Runs once over the selection."""

    def __init__(
        self, maker: ObjectMaker, directories: Directories, windows: Windows, tally: Tally, pulse: RestorePulse
    ) -> None:
        self._maker = maker
        self._directories = directories
        self._windows = windows
        self._tally = tally
        self._pulse = pulse
        self._blocked: set[bytes] = set()
        self.first_names: dict[bytes, bytes] = {}

    def run(self, tree: TargetTree, selection: Iterable[Selected]) -> None:
        """Make everything; waits until all files are written."""
        for selected, last in _with_last(selection):
            if self._blocked and self._is_blocked(selected.directory):
                self._leave_out(selected, kept=True)
                continue
            try:
                tree.go(selected.directory)
            except OSError:
                # No entry made it a directory: a manifest that no backup writes.
                self._leave_out(selected, kept=False)
                continue
            self._windows.enter()
            self._fill(tree.descriptor, selected, last=last)
        self._windows.finish()
        self._directories.leavings.clear_rest(tree.open_beside, self._prepare)

    def _fill(self, directory: int, selected: Selected, *, last: bool) -> None:
        around = self._directories.around(directory, selected.directory)
        self._directories.leavings.clear(directory, selected, around.before, last=last)
        for entry, _ in selected.entries:
            path = join(selected.directory, entry.name)
            self._pulse.entry(path)
            self._place(directory, path, entry, around, above=entry.name in selected.above)

    def _prepare(self, directory: int, path: bytes) -> Prepare:
        return self._directories.around(directory, path).before

    def _place(self, directory: int, path: bytes, entry: Entry, around: Surroundings, *, above: bool) -> None:
        if entry.type == EntryType.DIRECTORY:
            if not self._maker.make_directory(directory, path, entry, around, above=above):
                self._blocked.add(path)
            return
        key = file_key(entry) if entry.link_group is not None else None
        if key is not None and self.first_names.setdefault(key, path) != path:
            return
        if entry.type == EntryType.FILE:
            self._windows.add(directory, path, entry, around)
        else:
            self._maker.make(directory, path, entry, around)

    def _is_blocked(self, directory: bytes) -> bool:
        """Tell whether a directory is one that cannot be entered, or lies below one."""
        while directory:
            if directory in self._blocked:
                return True
            directory = split(directory)[0]
        return False

    def _leave_out(self, selected: Selected, *, kept: bool) -> None:
        note = self._tally.kept if kept else self._tally.damaged
        for entry, _ in selected.entries:
            note(join(selected.directory, entry.name))


def _with_last(selection: Iterable[Selected]) -> Iterator[tuple[Selected, bool]]:
    """Yield the parts of listings, each with whether no other part of its listing follows."""
    before: Selected | None = None
    for selected in selection:
        if before is not None:
            yield before, before.directory != selected.directory
        before = selected
    if before is not None:
        yield before, True
