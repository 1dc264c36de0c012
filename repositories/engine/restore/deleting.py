"""Deletes from the target what the backup does not hold, or tells what that would be.

Owns the walk over the covered directories. Each lies on the file system of its restored path's top, was entered as a
directory of the backup, and was listed whole by the manifest: nothing else is looked at.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from repositories.engine.errors import ConfigurationError, IntegrityError, ObjectMissingError
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entry_reader import Lost
from repositories.engine.manifest.order import is_within, join, split
from repositories.engine.restore.guard import CACHE, OTHER_FILE_SYSTEM, OWN, SPELLING, Guard, guard_of
from repositories.engine.restore.ledger import Ledger
from repositories.engine.restore.mounts import Mount, mount_of
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.removing import Remover
from repositories.engine.restore.request import Overwrite, RestoreRequest
from repositories.engine.restore.scope import Covered, covered
from repositories.engine.restore.selection import Selected
from repositories.engine.restore.target import TargetTree, refuse_inside
from repositories.engine.source.root import identities

REFUSED = "a part of the manifest cannot be read, so that nobody knows what the backup holds"


@dataclass(frozen=True, slots=True)
class Deleting:
    """What deletes in one restore, and what it is guided by. `remover` None = nothing may be deleted."""

    paths: tuple[bytes, ...]
    single_file: bool
    ledger: Ledger
    remover: Remover | None
    guard: Guard | None

    def refuse(self) -> None:
        """Nothing is deleted from now on: what cannot be read must not be."""
        self.ledger.refused = REFUSED

    def run(
        self,
        root: int,
        selection: Callable[[Lost], Iterable[Selected]],
        pulse: RestorePulse,
        collided: Callable[[bytes], bool] | None = None,
    ) -> None:
        """Delete below the open target, but for directories that `collided`. Raises OperationCancelledError.

        A plan does not know which did: None = judge by what is listed there now.
        """
        if self.remover is None or self.guard is None or self.ledger.refused:
            return
        tree = TargetTree(os.dup(root))
        try:
            directories = covered(selection(_unreadable), self.paths, single_file=self.single_file)
            _Deletions(self.remover, self.guard, self.ledger, pulse, collided).run(tree, directories)
        except (IntegrityError, ObjectMissingError):
            self.refuse()
        finally:
            tree.close()


def deleting(
    source: ChunkSource, backup: Backup, request: RestoreRequest, paths: tuple[bytes, ...],
    beat: Callable[[], None], *, act: bool,
) -> Deleting | None:  # fmt: skip
    """Return what deletes for this request, or with `act` False only looks; None when it is not asked for."""
    if request.deletion is None:
        return None
    if request.overwrite is Overwrite.NEVER:
        raise ConfigurationError(
            "deleting does not go with overwriting never: who keeps what differs would lose what is not in the backup",
            hint="choose to overwrite if-newer, if-changed or always",
        )
    refuse_inside(request.target, identities(request.deletion.spare), "Syncova's own data")
    ledger = Ledger(list(paths or (b"",)))
    guard = guard_of(source, backup, request.deletion, request.keep_out)
    if isinstance(guard, str):
        ledger.refused = guard
        return Deleting(paths, backup.root.top_entry is None, ledger, None, None)
    remover = Remover(guard, ledger, beat, act=act)
    return Deleting(paths, backup.root.top_entry is None, ledger, remover, guard)


def _unreadable(first: bytes, count: int) -> None:
    raise IntegrityError(f"a page of {count} entries from {first[:80]!r} on cannot be read any more")


class _Deletions:
    """Runs once, in one thread."""

    def __init__(
        self,
        remover: Remover,
        guard: Guard,
        ledger: Ledger,
        pulse: RestorePulse,
        collided: Callable[[bytes], bool] | None,
    ) -> None:
        self._remover = remover
        self._guard = guard
        self._ledger = ledger
        self._pulse = pulse
        self._mounts: dict[bytes, Mount] = {}
        self._outside: bytes | None = None
        self._has_collided = collided or self._seems_collided
        self._collided: set[bytes] = set()

    def run(self, tree: TargetTree, directories: Iterable[Covered]) -> None:
        """Take each covered directory in turn. Raises OperationCancelledError, IntegrityError."""
        for each in directories:
            self._pulse.entry(each.path)
            if self._outside is not None and is_within(each.path, self._outside):
                continue
            if self._has_collided(each.path):
                continue
            try:
                tree.go(each.path)
            except OSError:
                continue  # not there, or no directory: nothing of the backup's lies in it, and the restore has told
            try:
                self._clear(tree.descriptor, each)
            except OSError as error:
                self._ledger.failed(each.path, error)

    def _clear(self, directory: int, held: Covered) -> None:
        reason = self._reason_to_stay_out(directory, held)
        if reason is not None:
            self._ledger.spared(held.path, reason)
            self._outside = held.path
            return
        there = sorted(map(os.fsencode, os.listdir(directory)))
        foreign = [name for name in there if name not in held.names]
        if foreign and not self._guard.may_clear(held.path, held.names):
            self._ledger.spared(held.path, CACHE)
            return
        known = _spelled_otherwise(directory, held, there)
        self._collided |= {
            join(held.path, name) for name, one in known.items() if _is_of_another(directory, one, held, there)
        }
        for name in foreign:
            path = join(held.path, name)
            if known and _identity(directory, name) in known.values():
                self._ledger.spared(path, SPELLING)
            else:
                self._remover.remove(directory, path)

    def _seems_collided(self, path: bytes) -> bool:
        """Return whether another directory of the backup is met at a path's name, or at one above it."""
        while self._collided and path and path not in self._collided:
            path = split(path)[0]
        return path in self._collided

    def _reason_to_stay_out(self, directory: int, held: Covered) -> str | None:
        """Return why nothing in an open directory, and in none below it, may go."""
        if self._guard.is_own(os.fstat(directory)):
            return OWN
        mount = mount_of(directory)
        return OTHER_FILE_SYSTEM if mount != self._mounts.setdefault(held.top, mount) else None


def _spelled_otherwise(directory: int, held: Covered, there: list[bytes]) -> dict[bytes, tuple[int, int]]:
    """Return what the backup's names lead to that are not in the listing: such a file system lists other spellings."""
    missing = held.names - set(there)
    return {name: found for name in missing if (found := _identity(directory, name)) is not None}


def _is_of_another(directory: int, found: tuple[int, int], held: Covered, there: list[bytes]) -> bool:
    """Return whether what an unlisted name leads to is listed under another name that the backup holds, too."""
    return any(name in held.names and _identity(directory, name) == found for name in there)


def _identity(directory: int, name: bytes) -> tuple[int, int] | None:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None
    return status.st_dev, status.st_ino
