"""The fence of one prune: its mark, its sweep, and the proof before each deletion that nobody has passed it by.

Owns the numbers. A number is never used twice, so that no mark is ever taken back but by a sweep.
"""

from collections.abc import Iterable

from repositories.engine.clock import Clock
from repositories.engine.errors import CommitRefusedError, PruneOvertakenError
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.objects.rotations import KeyWatch
from repositories.engine.objects.store import ObjectStore
from repositories.engine.prune.keeping import Kept
from repositories.engine.prune.numbers import highest_told
from repositories.engine.prune.report import Beat
from repositories.engine.sessions.fences import join_ids
from repositories.engine.sessions.views import read_mark_records, read_marks, read_sweep_records


class Fence:
    """Mark and sweep of a prune whose lease is `session_id`."""

    def __init__(self, store: ObjectStore, session_id: bytes, clock: Clock, beat: Beat) -> None:
        self._store = store
        self._session_id = session_id
        self._clock = clock
        self._beat = beat
        self._keys = KeyWatch(store, clock)
        self.number = 0

    def mark(self, packs: frozenset[bytes], told: Iterable[int] = ()) -> int:
        """Put the mark, durable and visible when this returns; return its number. Raises PruneOvertakenError.

        `told` are the fences and numbers that anything but marks and sweeps tells of: a mark may have been lost.
        """
        self.number = highest_told(self._store.storage, (read_marks(self._store).highest, *told)) + 1
        record = MarkRecord(self.number, self._session_id, self._clock.now_ns(), join_ids(packs))
        self._store.put(ObjectKind.MARK, encode(record))
        self.require_alone()
        return self.number

    def sweep(self, kept: Kept, segments: frozenset[bytes], packs: frozenset[bytes]) -> None:
        """Put the sweep: from now on only what it names counts of all that has an older fence."""
        self.require_alone()
        record = SweepRecord(
            number=self.number,
            session_id=self._session_id,
            created_ns=self._clock.now_ns(),
            manifests=join_ids(kept.manifests),
            checkpoints=join_ids(kept.checkpoints),
            segments=join_ids(segments),
            packs=join_ids(packs),
        )
        self._store.put(ObjectKind.SWEEP, encode(record))
        self.require_alone()

    def require_alone(self) -> None:
        """Raise PruneOvertakenError if another prune has come as far, or the keys were rotated.

        A prune that was taken for dead (its machine slept) must delete nothing by what it saw before.
        """
        mine = {(each.number, each.session_id) for each in read_mark_records(self._store).values()}
        mine |= {(each.number, each.session_id) for each in read_sweep_records(self._store).values()}
        others = [number for number, session_id in mine if number >= self.number and session_id != self._session_id]
        if others:
            raise PruneOvertakenError(
                f"another prune (mark {max(others)}) passed this one by (mark {self.number}): it deletes nothing more",
                hint="nothing is lost; run prune again if space is still wanted",
            )
        # What was put before a quiet look counts for ever, so that what it replaces may go.
        try:
            self._keys.require_quiet("this prune deletes nothing more", self._beat)
        except CommitRefusedError as error:
            raise PruneOvertakenError(error.message, hint="run prune again") from error
