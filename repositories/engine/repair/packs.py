"""Bad packs: what can be read is stored anew, then the pack is set aside; and the index that lacks packs.

Owns the order: what will be moved is known as damaged before anything relies on that; salvaged chunks are durable and
indexed, and what they and their likes rely on is proven to be there, before anything is moved. A session's lease keeps
prunes away, but not from one that was suspended for long: whatever such a prune has done, no chunk is left in bad packs
alone (engine.md, section 5).
"""

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from repositories.engine.check.report import Beat, CheckReport, PackResult
from repositories.engine.display import show_count
from repositories.engine.errors import EngineError, InventoryLostError
from repositories.engine.format.kinds import ObjectKind, names_of, object_name
from repositories.engine.format.records import encode
from repositories.engine.format.verification import DamageRecord
from repositories.engine.ids import ChunkKind
from repositories.engine.index.recovery import is_current, read_unnamed
from repositories.engine.objects.rotations import KeyWatch
from repositories.engine.packs.directory import PackRecord
from repositories.engine.repair.aside import ASIDE, Aside
from repositories.engine.repair.report import Steps
from repositories.engine.repair.salvage import ReadableBlock, by_index, by_parts
from repositories.engine.repository import Repository, WriteSession
from repositories.engine.sessions.views import read_damage
from repositories.engine.storage.medium import is_barred

_NOTHING_MOVED = "nothing was set aside"
_SOME = frozenset({b""})
Blocks = Iterable[ReadableBlock | tuple[bytes, ...]]


class PackMender:
    """Mends packs and index. Without a session (a dry run) it only tells."""

    def __init__(self, repository: Repository, session: WriteSession | None, steps: Steps, beat: Beat) -> None:
        self._repository = repository
        self._session = session
        self._steps = steps
        self._beat = beat
        self._reader = session.reader() if session is not None else repository.reader()
        self._bad: list[tuple[bytes, str]] = []
        self._lost: set[bytes] = set()

    def mend(self, before: CheckReport, aside: Aside) -> None:
        """Mend what a check has found. Raises StorageFullError, StorageReadOnlyError, what the session raises.

        CommitRefusedError, with nothing moved, if the keys were rotated since the repository was opened, or a prune has
        taken what was relied on.
        """
        damaged = self._repository.catalogue.damaged()
        index_hurt = bool(damaged) or any(problem.kind == "index" for problem in before.problems)
        bad = [each for each in before.suspect if self._is_there(each.pack) and self._may_read(each.pack)]
        if index_hurt and self._reader.recovery is not None:
            self._reader.recovery.run()
        self._distrust(bad)
        self._tell_prunes(bad)
        if index_hurt:
            self._list_found({each.pack.pack_id for each in bad})
        for each in bad:
            self._salvage_indexed(each)
        self._salvage_unnamed(wanted=index_hurt or bool(before.hurt))
        if self._session is not None:
            self._session.flush()
            # A session knows chunks by their ids alone, whatever their kind.
            self._steps.chunks_lost = sum(not self._session.has(ChunkKind.DATA, chunk) for chunk in self._lost)
        if self._bad or damaged:
            self._require_own_keys()
            if self._session is not None:
                self._session.require_kept(_NOTHING_MOVED)
        self._move_away(damaged, aside)

    def _require_own_keys(self) -> None:
        """Tell what a newer key sealed from what is damaged: to us both are bytes that do not open."""
        if self._session is not None:
            KeyWatch(self._repository.store, self._repository.clock).require_quiet(_NOTHING_MOVED, self._beat)

    def _distrust(self, bad: Iterable[PackResult]) -> None:
        """Count nothing in these packs as stored: what can be read of them has to be stored anew."""
        if self._session is not None:
            for each in bad:
                self._session.distrust(each.pack.pack_id)

    def _tell_prunes(self, bad: Iterable[PackResult]) -> None:
        """Note that these packs are damaged, whole: a prune then keeps no chunk in them that lies elsewhere, too."""
        if self._session is None:
            return
        store = self._repository.store
        known = read_damage(store)
        for each in bad:
            if known.get(each.pack.pack_id, _SOME):
                reason = each.failure or "a repair is about to set it aside"
                store.put(
                    ObjectKind.DAMAGE,
                    encode(DamageRecord(self._repository.clock.now_ns(), each.pack.pack_id, b"", reason)),
                )

    def _move_away(self, damaged: Iterable[bytes], aside: Aside) -> None:
        for pack_id, reason in self._bad:
            name = object_name(ObjectKind.PACK, pack_id)
            self._set_aside(aside, name, reason)
        for segment_id in damaged:
            name = object_name(ObjectKind.INDEX, segment_id)
            for copy in names_of(ObjectKind.INDEX, name):
                self._set_aside(aside, copy, "no copy of this index segment can be read")

    def _is_there(self, pack: PackRecord) -> bool:
        try:
            return self._repository.storage.size(object_name(ObjectKind.PACK, pack.pack_id)) >= 0
        except EngineError:
            return False

    def _may_read(self, pack: PackRecord) -> bool:
        """Tell whether this user may read a pack; of one that it may not read nothing is given up."""
        name = object_name(ObjectKind.PACK, pack.pack_id)
        try:
            self._repository.storage.get(name, 0, 1)
        except EngineError as error:
            if is_barred(error):
                told = f"it may not be read here ({error.message}), which is no damage: repair as a user who may"
                self._steps.fail("pack", name, told)
                return False
        return True

    def _list_found(self, bad: Collection[bytes]) -> None:
        """List the packs that no segment names in a new one, but for `bad` ones: those go aside."""
        found = tuple(pack for pack in self._found() if pack.pack_id not in bad)
        if found:
            told = (
                f"{show_count(len(found), 'pack')} that no readable segment names: listed anew from their directories"
            )
            self._steps.do("index", "index", told, partial(self._list, found))

    def _found(self) -> tuple[PackRecord, ...]:
        recovery = self._reader.recovery
        if recovery is None:
            return ()
        recovery.run()
        return tuple(pack for pack in recovery.found if is_current(self._repository.store, pack))

    def _list(self, found: Sequence[PackRecord]) -> None:
        if self._session is not None:
            self._session.list_packs(found)

    def _salvage_indexed(self, bad: PackResult) -> None:
        name = object_name(ObjectKind.PACK, bad.pack.pack_id)
        told = f"{bad.failure or 'it is damaged'}; what can be read of it is stored anew"
        blocks = by_index(self._repository, bad.pack)
        if self._steps.do("pack", name, told, partial(self._store, blocks)) or self._steps.dry_run:
            self._bad.append((bad.pack.pack_id, "it is damaged"))

    def _salvage_unnamed(self, *, wanted: bool) -> None:
        """Salvage packs that have no directory; and, if anything is missing, those that a retired key sealed.

        These count without an index no more; their chunks are sealed anew, of which only ids that count are ever asked.
        """
        repository = self._repository
        unnamed = read_unnamed(repository.store, repository.pack_reader, self._reader.index.packs)
        for pack_id in unnamed.without:
            told = "no index names it, and its directory cannot be read; its blocks are stored anew"
            if self._salvage_parts(pack_id, told):
                self._bad.append((pack_id, "its directory cannot be read"))
        # With the inventory most segments are lost that count: what none of the others names is no loss then.
        for pack in unnamed.packs if wanted and not isinstance(repository.refuse_writing, InventoryLostError) else ():
            if not is_current(repository.store, pack):
                self._salvage_parts(pack.pack_id, "a retired key sealed it and no index names it; sealed anew")

    def _salvage_parts(self, pack_id: bytes, told: str) -> bool:
        blocks = by_parts(self._repository, pack_id)
        name = object_name(ObjectKind.PACK, pack_id)
        return self._steps.do("pack", name, told, partial(self._store, blocks)) or self._steps.dry_run

    def _store(self, blocks: Blocks) -> None:
        session = self._session
        if session is None:
            return
        for block in blocks:
            self._beat()
            if isinstance(block, ReadableBlock):
                self._steps.chunks_saved += sum(session.put(kind, content)[1] for kind, _, content in block.chunks())
            else:
                self._lost.update(block)

    def _set_aside(self, aside: Aside, name: str, reason: str) -> None:
        self._steps.do("aside", name, f"{reason}: moved below {ASIDE}", partial(aside.take, name))
