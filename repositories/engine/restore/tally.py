"""Counts what happens during a restore, from several threads.

Owns the figures and the bounded lists of paths. Remembers which first names of hard links must not be linked to.
"""

import functools
import threading
from collections import Counter

from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.metadata.apply import AttributeClass, ReportAttribute
from repositories.engine.restore.file_systems import Place
from repositories.engine.restore.request import RestoreResult
from repositories.engine.restore.shortfalls import Shortfalls, refused_as

LISTED = 100


class Tally:
    """All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._restored: Counter[int] = Counter()
        self._warnings: Counter[str] = Counter()
        self._shortfalls = Shortfalls()
        self._lists: dict[str, list[bytes]] = {"kept": [], "damaged": [], "swapped": []}
        self._collided_list: list[tuple[bytes, bytes]] = []
        self._failed_list: list[tuple[bytes, str]] = []
        self._counts: Counter[str] = Counter()
        self._unlinkable: set[bytes] = set()
        self._damaged: set[bytes] = set()
        self.unmarked: set[bytes] = set()

    @property
    def files(self) -> int:
        """Files restored so far."""
        return self._restored[EntryType.FILE]

    def restored(self, entry: Entry) -> None:
        """An object was made or overwritten."""
        with self._lock:
            self._restored[entry.type] += 1

    def restored_files(self, count: int) -> None:
        """So many files were made."""
        with self._lock:
            self._restored[EntryType.FILE] += count

    def wrote(self, count: int) -> None:
        """Content went to the target."""
        with self._lock:
            self._counts["bytes"] += count

    def existing(self) -> None:
        """An object was there already, identical."""
        with self._lock:
            self._counts["existing"] += 1

    def not_compared(self) -> None:
        """Of an existing file, size and attributes are the backup's; its content was not looked at."""
        with self._lock:
            self._counts["not_compared"] += 1

    def verified(self) -> None:
        """A file was read back and is what the backup holds."""
        with self._lock:
            self._counts["verified"] += 1

    def unverified(self) -> None:
        """A restored file may not be read by us, by its own mode."""
        with self._lock:
            self._counts["unverified"] += 1

    def kept(self, path: bytes) -> None:
        """An object was there already, differs, and stays."""
        self._note("kept", path)

    def damaged(self, path: bytes) -> None:
        """An object is not restored for the repository does not give it back."""
        with self._lock:
            if path in self._damaged:
                return
            self._damaged.add(path)
        self._note("damaged", path)

    def swapped(self, path: bytes) -> None:
        """A directory, or an object in it, is not restored: somebody exchanged the directory in the target."""
        self._note("swapped", path)

    def collided(self, path: bytes, rival: bytes) -> None:
        """An object is not restored: the target takes its name for that of the object at `rival`."""
        self.collided_below(path)
        with self._lock:
            if len(self._collided_list) < LISTED:
                self._collided_list.append((path, rival))

    def collided_below(self, path: bytes) -> None:
        """An object is not restored since a directory above it collided, which is listed."""
        with self._lock:
            self._counts["collided"] += 1
            self._unlinkable.add(path)

    def lost(self, first: bytes, count: int) -> None:
        """A page of the manifest cannot be read: `count` objects from the path `first` on are not restored."""
        with self._lock:
            self._counts["damaged"] += count - 1
        self._note("damaged", first)

    def failed(self, path: bytes, error: OSError) -> None:
        """An object could not be written."""
        with self._lock:
            self._counts["failed"] += 1
            self._unlinkable.add(path)
            if len(self._failed_list) < LISTED:
                self._failed_list.append((path, error.strerror or str(error)))

    def refused(self, directory: int, path: bytes, entry: Entry, error: OSError) -> None:
        """As `failed`, and counted by class and file system if the one that holds `directory` takes no such object."""
        kind = refused_as(entry, error)
        if kind is not None:
            self._shortfalls.add(kind, directory, path, error)
        self.failed(path, error)

    def warn(self, kind: AttributeClass, error: OSError, place: Place, path: bytes) -> None:
        """An attribute of the object at `path` could not be set; `place` tells the file system that it lies on."""
        with self._lock:
            self._warnings[str(kind)] += 1
        self._shortfalls.add(kind, place, path, error)

    def reporter(self, place: Place, path: bytes) -> ReportAttribute:
        """Return what `warn`s about one object."""
        return functools.partial(self.warn, place=place, path=path)

    def may_link_to(self, path: bytes) -> bool:
        """Return whether a name was restored, so that others may become hard links to it."""
        with self._lock:
            return path not in self._unlinkable

    def is_intact(self, path: bytes) -> bool:
        """Return whether an object is neither kept, damaged nor failed."""
        return self.may_link_to(path)

    def result(self) -> RestoreResult:
        """Return the figures."""
        kinds = self._restored
        others = sum(kinds.values()) - kinds[EntryType.FILE] - kinds[EntryType.DIRECTORY] - kinds[EntryType.LINK]
        return RestoreResult(
            files=kinds[EntryType.FILE],
            directories=kinds[EntryType.DIRECTORY],
            links=kinds[EntryType.LINK],
            others=others,
            bytes_written=self._counts["bytes"],
            existing=self._counts["existing"],
            kept=self._counts["kept"],
            damaged=self._counts["damaged"],
            failed=self._counts["failed"],
            verified_files=self._counts["verified"],
            not_compared=self._counts["not_compared"],
            unverified=self._counts["unverified"],
            warnings=dict(sorted(self._warnings.items())),
            kept_paths=self._lists["kept"],
            damaged_paths=self._lists["damaged"],
            failed_paths=self._failed_list,
            swapped=self._counts["swapped"],
            swapped_paths=self._lists["swapped"],
            collided=self._counts["collided"],
            collided_paths=self._collided_list,
            shortfalls=self._shortfalls.result(),
        )

    def _note(self, kind: str, path: bytes) -> None:
        with self._lock:
            self._counts[kind] += 1
            self._unlinkable.add(path)
            if len(self._lists[kind]) < LISTED:
                self._lists[kind].append(path)
