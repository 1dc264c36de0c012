"""Runs one restore: first pass, deletion, second pass, verification.

Owns the order, the read session that keeps a prune away, and the target's own attributes.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from repositories.engine.backup.options import Hooks
from repositories.engine.display import show_count, show_path
from repositories.engine.errors import RestoreTargetError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.entries import Entry
from repositories.engine.manifest.entry_reader import Lost
from repositories.engine.restore.chunks import AnyChunks
from repositories.engine.restore.co_writers import CoWriters, most_at_once
from repositories.engine.restore.collisions import Collisions
from repositories.engine.restore.deleting import Deleting, deleting
from repositories.engine.restore.directories import Directories
from repositories.engine.restore.existing import Policy
from repositories.engine.restore.finishing import Makers, SecondPass
from repositories.engine.restore.leavings import Leavings
from repositories.engine.restore.left_out import LeftOut
from repositories.engine.restore.objects import ObjectMaker
from repositories.engine.restore.placing import FirstPass
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.request import RestoreRequest, RestoreResult
from repositories.engine.restore.room import Room
from repositories.engine.restore.selection import Selected, normalise, read_selected
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import TargetTree, is_unfinished, open_target, refuse_inside
from repositories.engine.restore.verifying import verify
from repositories.engine.restore.widened import Widened
from repositories.engine.restore.windows import Windows
from repositories.engine.restore.writing import FileWriter
from repositories.engine.source.root import identities


class HashingKeys(Protocol):
    """The keys that name chunks."""

    def chunk_id(self, kind: ChunkKind, data: bytes, /) -> bytes:
        """Return the keyed id of a chunk."""


class RestorableRepository(Protocol):
    """The part of a repository that a restore needs."""

    @property
    def keyring(self) -> HashingKeys:
        """The keys that name chunks."""

    def reader(self) -> AnyChunks:
        """Return what reads chunks."""

    def begin_read(self) -> AbstractContextManager[object]:
        """Keep a prune from taking packs away until it is closed."""


@dataclass(frozen=True, slots=True)
class _Restore:
    source: AnyChunks
    backup: Backup
    paths: tuple[bytes, ...]
    request: RestoreRequest
    makers: Makers
    tally: Tally
    pulse: RestorePulse
    deleting: Deleting | None = None
    begin_co_writers: Callable[[], CoWriters] | None = None

    @property
    def whole(self) -> bool:
        return self.paths in ((), (b"",))

    @property
    def top(self) -> Entry | None:
        """What the target itself is to be like; None if it is only the way to what is restored, or holds a file that
        was the source.
        """
        return self.backup.root.top_entry if self.whole else None

    def selection(self, lost: Lost | None = None) -> Iterator[Selected]:
        return read_selected(self.source, self.backup.root.pages, self.paths, lost or _counted_before)

    def lost(self, first: bytes, count: int) -> None:
        self.tally.lost(first, count)
        if self.deleting is not None:
            self.deleting.refuse()


def restore(repository: RestorableRepository, backup: Backup, request: RestoreRequest, hooks: Hooks) -> RestoreResult:
    """Restore a backup, or a part of it, into a directory; return what was done.

    Damaged or hostile content is left out and counted, all else is restored: see the result. Raises
    ConfigurationError (a path that is not in the backup, deleting without overwriting), RestoreTargetError (target
    unusable or full; run it again to go on), IntegrityError (the manifest itself is broken: what came before it is
    restored), OperationCancelledError, and errors of the repository's medium.
    """
    with repository.begin_read():
        job = _prepare(repository, backup, request, hooks)
        _run(job, repository)
    job.pulse.report()
    result = job.tally.result()
    return result if job.deleting is None else dataclasses.replace(result, deletion=job.deleting.ledger.result())


def _prepare(repository: RestorableRepository, backup: Backup, request: RestoreRequest, hooks: Hooks) -> _Restore:
    source = repository.reader()
    paths = normalise(request.paths, backup.root.source.id)
    tally = Tally()
    pulse = RestorePulse(hooks, tally)
    policy = Policy(request.overwrite, source, repository.keyring.chunk_id, compare=request.verify)
    deletion = deleting(source, backup, request, paths, pulse.beat, act=True)
    room = Room(deletion.remover if deletion is not None else None)
    widened = Widened()
    directories = Directories(policy, tally, widened, Leavings())
    files = FileWriter(source, policy, tally, pulse.taken, room)
    objects = ObjectMaker(source, policy, tally, room, directories)
    collisions = Collisions(tally)
    left_out = LeftOut(source, backup.root.pages, tally, collisions)
    makers = Makers(source, objects, directories, files, tally, widened, collisions, left_out)
    # Where only one processor is free, or a limit holds all up, processes gain nothing.
    most = most_at_once() if hooks.read_bucket is None else 0
    begin = partial(CoWriters, source, most, tally, pulse) if most > 1 else None
    return _Restore(source, backup, paths, request, makers, tally, pulse, deletion, begin)


def _counted_before(first: bytes, count: int) -> None:
    """The first pass has counted what damaged pages held."""
    del first, count


def _run(job: _Restore, repository: RestorableRepository) -> None:
    first = next(job.selection(), None)  # a path that is not there is told before anything is made
    del first
    refuse_inside(job.request.target, identities(job.request.keep_out))
    opened = open_target(job.request.target, whole=job.top is not None)
    root = opened.descriptor
    try:
        if not opened.fresh:
            job.makers.directories.meet_target(root, job.top, opened.found)
        elif not is_unfinished(os.fstat(root)):
            job.tally.unmarked.add(b"")
        if opened.mode_before is not None:
            job.makers.widened.remember(b"", opened.mode_before)
        with _naming_target(job):
            second = _passes(job, root)
        if job.request.verify:
            _verify(job, root, repository)
        _finish_target(job, second, root)
    finally:
        job.makers.widened.put_back(root)
        os.close(root)


def _verify(job: _Restore, root: int, repository: RestorableRepository) -> None:
    job.pulse.phase = "verifying"
    tree = TargetTree(os.dup(root))
    try:
        against = (job.source, repository.keyring.chunk_id)
        verify(tree, job.selection(), against, job.makers.left_out, job.tally, job.pulse)
    finally:
        tree.close()


@contextlib.contextmanager
def _naming_target(job: _Restore) -> Iterator[None]:
    """Say which target takes no more, and how far the restore came."""
    try:
        yield
    except RestoreTargetError as error:
        done = show_count(job.tally.files, "file")
        target = show_path(job.request.target)
        raise RestoreTargetError(f"target {target} {error.message}; {done} restored so far", hint=error.hint) from error


def _passes(job: _Restore, root: int) -> SecondPass:
    windows = Windows(job.source, job.makers.files, job.begin_co_writers)
    first = FirstPass(job.makers, windows, job.pulse)
    tree = TargetTree(os.dup(root))
    try:
        first.run(tree, job.selection(job.lost))
    finally:
        windows.close()
        tree.close()
    if job.deleting is not None:
        # Before the second pass: deleting changes the times of directories.
        job.pulse.phase = "deleting"
        job.deleting.run(root, job.selection, job.pulse, job.makers.collisions.holds)
    job.pulse.phase = "finishing"
    second = SecondPass(job.makers, job.request.overwrite, first.first_names, job.pulse)
    second.run(os.dup(root), job.selection())
    return second


def _finish_target(job: _Restore, second: SecondPass, root: int) -> None:
    top = job.backup.root.top_entry
    if top is not None:
        second.finish_directory(root, top, b"", above=not job.whole)
    elif is_unfinished(os.fstat(root)):
        os.chmod(root, 0o700)
