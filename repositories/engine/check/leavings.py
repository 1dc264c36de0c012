"""Objects of which one copy is left and that mean nothing: whoever put or removed them slept, died or was given up.

Owns telling them from pairs of which the medium lost a copy. What a backup needs, or what counts in any way, is never
said to mean nothing: its missing copy is damage, which a repair mends from the other one.
"""

from collections.abc import Callable
from dataclasses import dataclass

from repositories.engine.errors import IntegrityError, ObjectMissingError, UnsupportedFormatError
from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import ObjectKind, generation_of, names_of, object_id_of
from repositories.engine.format.records import decode
from repositories.engine.objects.store import steadily
from repositories.engine.prune.segments import Segment, packs_in, read_segments, replaced
from repositories.engine.repository import Repository
from repositories.engine.sessions.views import read_newest_sweep

_UNREADABLE = (ObjectMissingError, IntegrityError, UnsupportedFormatError)
IsUsed = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Leavings:
    """Judges single objects. `is_needed` tells whether a pack holds anything that a backup uses."""

    repository: Repository
    is_needed: IsUsed

    def mean_nothing(self, kind: ObjectKind, name: str) -> bool:
        """Tell whether one copy alone of this object is there, and it counts for nothing."""
        object_id = object_id_of(name)
        copies = names_of(kind, name)
        if object_id is None or len(copies) < 2 or sum(map(self._is_there, copies)) != 1:
            return False
        try:
            return self._judge(kind)(name, object_id)
        except _UNREADABLE:
            return False

    def _judge(self, kind: ObjectKind) -> Callable[[str, bytes], bool]:
        judges = {
            ObjectKind.CONFIG: self._is_other_config,
            ObjectKind.KEYRING: self._is_earlier,
            ObjectKind.SLOT: self._is_earlier,
            ObjectKind.INDEX: self._is_idle_segment,
            ObjectKind.MANIFEST: self._is_no_backup,
            ObjectKind.SWEEP: self._is_old_sweep,
        }
        return judges.get(kind, lambda _name, _id: False)

    def _is_other_config(self, _: str, object_id: bytes) -> bool:
        """Tell whether it is of a creation that another one was faster than."""
        return object_id != self.repository.config.repository_id

    def _is_earlier(self, name: str, _: bytes) -> bool:
        """Tell whether it is of a generation of keys that has ended."""
        return generation_of(name) < self.repository.keyring.generation

    def _is_no_backup(self, _: str, manifest_id: bytes) -> bool:
        """Tell whether it is void or deleted."""
        store = self.repository.store
        fence = decode(store.read(ObjectKind.MANIFEST, manifest_id), ManifestRecord).fence
        if not read_newest_sweep(store).accepts_manifest(manifest_id, fence):
            return True
        return manifest_id in self.repository.notes().deleted(self.repository.clock.now_ns())

    def _is_old_sweep(self, _: str, sweep_id: bytes) -> bool:
        """Tell whether a newer one speaks for it."""
        store = self.repository.store
        number = decode(store.read(ObjectKind.SWEEP, sweep_id), SweepRecord).number
        return number < read_newest_sweep(store).number

    def _is_idle_segment(self, _: str, segment_id: bytes) -> bool:
        """Tell whether nothing that a backup uses is listed there alone."""
        store = self.repository.store
        sweep = read_newest_sweep(store)
        listed = steadily(lambda: read_segments(store, {}, lambda _segment, _packs: None)).whole
        own = listed.pop(segment_id, None)
        counted = {each: one for each, one in listed.items() if sweep.accepts_segment(each, one.fence)}
        if own is None or not sweep.accepts_segment(segment_id, own.fence) or segment_id in replaced(counted.values()):
            return True
        packs = {pack.pack_id for pack in packs_in(store, segment_id)}
        # One without packs was put at the creation, which it proves.
        return bool(packs) and self._list(counted, set(filter(self.is_needed, packs)))

    def _list(self, segments: dict[bytes, Segment], packs: set[bytes]) -> bool:
        """Tell whether these segments list all of these packs."""
        live = segments.keys() - replaced(segments.values())
        left = set(packs)
        for segment_id in live if left else ():
            left.difference_update(pack.pack_id for pack in packs_in(self.repository.store, segment_id))
        return not left

    def _is_there(self, name: str) -> bool:
        try:
            return self.repository.storage.size(name) >= 0
        except ObjectMissingError:
            return False
