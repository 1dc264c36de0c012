"""Runs one restore: first pass, second pass, verification.

Owns the order, the read session that keeps a prune away, and the target's own attributes.
"""

import contextlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from repositories.engine.backup.options import Hooks
from repositories.engine.display import show_count, show_path
from repositories.engine.errors import RestoreTargetError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.entry_reader import Lost
from repositories.engine.restore.chunks import AnyChunks
from repositories.engine.restore.existing import Policy
from repositories.engine.restore.finishing import Makers, SecondPass
from repositories.engine.restore.objects import ObjectMaker
from repositories.engine.restore.placing import FirstPass
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.request import RestoreRequest, RestoreResult
from repositories.engine.restore.selection import Selected, normalise, read_selected
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import TargetTree, is_unfinished, open_target, refuse_inside
from repositories.engine.restore.verifying import verify
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

    def selection(self, lost: Lost | None = None) -> Iterator[Selected]:
        return read_selected(self.source, self.backup.root.pages, self.paths, lost or _counted_before)


def restore(repository: RestorableRepository, backup: Backup, request: RestoreRequest, hooks: Hooks) -> RestoreResult:
    """Restore a backup, or a part of it, into a directory; return what was done.

    Damaged or hostile content is left out and counted, all else is restored: see the result. Raises
    ConfigurationError (a path that is not in the backup), RestoreTargetError (target unusable or full; run it again
    to go on), IntegrityError (the manifest itself is broken: what came before it is restored),
    OperationCancelledError, and errors of the repository's medium.
    """
    with repository.begin_read():
        source = repository.reader()
        paths = normalise(request.paths, backup.root.source.id)
        tally = Tally()
        pulse = RestorePulse(hooks, tally)
        policy = Policy(request.overwrite, source, repository.keyring.chunk_id, compare=request.verify)
        files = FileWriter(source, policy, tally, pulse.taken)
        makers = Makers(source, ObjectMaker(source, policy, tally), files, tally)
        job = _Restore(source, backup, paths, request, makers, tally, pulse)
        _run(job, repository)
    pulse.report()
    return tally.result()


def _counted_before(first: bytes, count: int) -> None:
    """The first pass has counted what damaged pages held."""
    del first, count


def _run(job: _Restore, repository: RestorableRepository) -> None:
    first = next(job.selection(), None)  # a path that is not there is told before anything is made
    del first
    refuse_inside(job.request.target, identities(job.request.keep_out))
    root, fresh = open_target(job.request.target)
    try:
        if fresh and not is_unfinished(os.fstat(root)):
            job.tally.unmarked.add(b"")
        with _naming_target(job):
            second = _both_passes(job, root)
        if job.request.verify:
            job.pulse.phase = "verifying"
            tree = TargetTree(os.dup(root))
            try:
                verify(tree, job.selection(), (job.source, repository.keyring.chunk_id), job.tally, job.pulse)
            finally:
                tree.close()
        _finish_target(job, second, root)
    finally:
        os.close(root)


@contextlib.contextmanager
def _naming_target(job: _Restore) -> Iterator[None]:
    """Say which target takes no more, and how far the restore came."""
    try:
        yield
    except RestoreTargetError as error:
        done = show_count(job.tally.files, "file")
        target = show_path(job.request.target)
        raise RestoreTargetError(f"target {target} {error.message}; {done} restored so far", hint=error.hint) from error


def _both_passes(job: _Restore, root: int) -> SecondPass:
    windows = Windows(job.source, job.makers.files)
    first = FirstPass(job.makers.objects, windows, job.tally, job.pulse)
    tree = TargetTree(os.dup(root))
    try:
        first.run(tree, job.selection(job.tally.lost))
    finally:
        windows.close()
        tree.close()
    job.pulse.phase = "finishing"
    second = SecondPass(job.makers, job.request.overwrite, first.first_names, job.pulse)
    second.run(os.dup(root), job.selection())
    return second


def _finish_target(job: _Restore, second: SecondPass, root: int) -> None:
    top = job.backup.root.top_entry
    if top is not None:
        second.finish_directory(root, top, b"", above=bool(job.paths and job.paths != (b"",)))
    elif is_unfinished(os.fstat(root)):
        os.chmod(root, 0o700)
