"""The write pipeline: blocks compressed, sealed and proven by a pool, written in order by one pack writer.

Owns the threads, the bounds on bytes in flight and on packs that wait to be put, and poison: after any failure nothing
more is written and every later call raises that failure. On a medium far away several packs are put at once.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import msgspec

from repositories.engine.codec.sealing import ObjectSeal
from repositories.engine.errors import EngineError, RepositoryError
from repositories.engine.limits import MAX_CHUNKS_PER_PACK, MIB
from repositories.engine.objects.store import ObjectStore
from repositories.engine.packs.blocks import BlockStyle, PendingChunk, SealedBlock, build_block, prove_block
from repositories.engine.packs.directory import PackClass, PackRecord
from repositories.engine.packs.pack_file import PackFile
from repositories.engine.packs.whole_blocks import WholeBlock

Maker = Callable[[ObjectSeal, int], SealedBlock]
"""Makes the part of a number in the pack of a seal."""


class PipelineSettings(msgspec.Struct, frozen=True):
    """Sizes in bytes: pack target, decoded bytes in flight; `workers` threads compress and seal."""

    style: BlockStyle
    workers: int = 2
    pack_target: int = 32 * MIB
    in_flight: int = 32 * MIB


class BlockPipeline:
    """Turns lists of chunks into durable packs. `submit`, `drain`, `close` are called by one thread at a time."""

    def __init__(self, store: ObjectStore, settings: PipelineSettings, on_pack: Callable[[PackRecord], None]) -> None:
        self._store = store
        self._settings = settings
        self._on_pack = on_pack
        self._pool = ThreadPoolExecutor(settings.workers, "syncova-seal")
        self._writer = ThreadPoolExecutor(1, "syncova-pack")
        self._puts_at_once = store.storage.puts_at_once
        self._publisher = ThreadPoolExecutor(self._puts_at_once, "syncova-put")
        self._changed = threading.Condition()
        self._in_flight = 0
        self._unfinished = 0
        self._publishing = 0
        self._decoded_bytes = 1
        self._stored_bytes = 1
        self._open: dict[PackClass, PackFile] = {}
        self._packs: set[PackFile] = set()
        self.failure: BaseException | None = None

    def submit(self, pack_class: PackClass, chunks: Sequence[PendingChunk], decoded: int) -> None:
        """Hand over a block's chunks; waits while too much is in flight. Raises the failure once there is one."""
        self._submit(pack_class, (len(chunks), decoded), lambda seal, number: self._build(seal, number, chunks))

    def submit_whole(self, pack_class: PackClass, block: WholeBlock) -> None:
        """Hand over a block of another pack, which is sealed anew and not compressed again; waits as `submit` does."""
        self._submit(pack_class, (block.count, block.decoded_length), block.sealed_by)

    def _submit(self, pack_class: PackClass, size: tuple[int, int], make: Maker) -> None:
        chunks, decoded = size
        with self._changed:
            while self._is_full(decoded) and not self.failure:
                self._changed.wait()
            self.check()
        pack = self._pack_for(pack_class, chunks, decoded)
        number = pack.promised_blocks
        pack.promised_blocks += 1
        block = self._pool.submit(self._make_block, pack, number, make)
        self._follow(self._writer.submit(self._append, pack, block), decoded)

    def drain(self) -> None:
        """Close the open packs and wait until all packs are durable. Raises the failure."""
        self._close_packs()
        with self._changed:
            while self._unfinished:
                self._changed.wait()
        self.check()

    def check(self) -> None:
        """Raise the failure that poisoned the pipeline, if there is one."""
        if self.failure is not None:
            if isinstance(self.failure, EngineError):
                raise self.failure
            raise RepositoryError(
                f"writing to the repository failed: {type(self.failure).__name__}", hint="see the log, then run again"
            ) from self.failure

    @contextlib.contextmanager
    def poisoning(self) -> Iterator[None]:
        """Let an error of the enclosed writes poison the pipeline as its own do."""
        try:
            yield
        except EngineError as error:
            self.failure = self.failure or error
            raise

    def close(self) -> None:
        """End the threads and remove what is not published. Safe to call twice."""
        with self._changed:
            self.failure = self.failure or RepositoryError("the session is closed", hint="begin another one")
        for executor in (self._pool, self._writer, self._publisher):
            executor.shutdown(wait=True, cancel_futures=True)
        for pack in self._packs:
            pack.discard()
        self._packs.clear()
        self._open.clear()

    def _is_full(self, decoded: int) -> bool:
        """Tell whether `decoded` more bytes must wait: for blocks in flight, or for packs that fill the local disk."""
        if self._publishing >= 2 * self._puts_at_once:
            return True
        return bool(self._in_flight) and self._in_flight + decoded > self._settings.in_flight

    def _pack_for(self, pack_class: PackClass, chunks: int, decoded: int) -> PackFile:
        pack = self._open.get(pack_class)
        if pack is not None and (
            self._expected_length(pack, decoded) > self._settings.pack_target
            or pack.promised_chunks + chunks > MAX_CHUNKS_PER_PACK
        ):
            self._close_pack(self._open.pop(pack_class))
            pack = None
        if pack is None:
            pack = self._open[pack_class] = PackFile(self._store, pack_class)
            self._packs.add(pack)
        pack.promised_bytes += decoded
        pack.promised_chunks += chunks
        return pack

    def _expected_length(self, pack: PackFile, more: int) -> float:
        """Return what the pack will have grown to with `more` decoded bytes, if all shrinks as it did so far.

        Only what is in flight is estimated, so a wrong estimate lengthens a pack by no more than that.
        """
        waiting = pack.promised_bytes - pack.appended_bytes + more
        return pack.length + waiting * self._stored_bytes / self._decoded_bytes

    def _close_packs(self) -> None:
        while self._open:
            self._close_pack(self._open.popitem()[1])

    def _close_pack(self, pack: PackFile) -> None:
        self._follow(self._writer.submit(self._finish, pack), 0)

    def _make_block(self, pack: PackFile, number: int, make: Maker) -> SealedBlock:
        self.check()
        return make(pack.seal, number)

    def _build(self, seal: ObjectSeal, number: int, chunks: Sequence[PendingChunk]) -> SealedBlock:
        block = build_block(seal, number, chunks, self._settings.style)
        prove_block(seal, number, block, self._store.keyring)
        return block

    def _append(self, pack: PackFile, block: "Future[SealedBlock]") -> None:
        sealed = block.result()
        self.check()
        pack.append(sealed)
        with self._changed:
            self._decoded_bytes += sealed.decoded_length
            self._stored_bytes += len(sealed.part)

    def _finish(self, pack: PackFile) -> None:
        self.check()
        record = pack.finish()
        with self._changed:
            self._publishing += 1
        self._follow(self._publisher.submit(self._publish, pack, record), 0)

    def _publish(self, pack: PackFile, record: PackRecord) -> None:
        try:
            self.check()
            pack.publish()
        finally:
            with self._changed:
                self._publishing -= 1
                self._changed.notify_all()
        with self._changed:
            self._packs.discard(pack)
            self._on_pack(record)

    def _follow(self, future: "Future[None]", decoded: int) -> None:
        """Count a piece of work as unfinished until it ends; its error poisons the pipeline."""
        with self._changed:
            self._in_flight += decoded
            self._unfinished += 1

        def settle(ended: "Future[None]") -> None:
            error = None if ended.cancelled() else ended.exception()
            with self._changed:
                self._in_flight -= decoded
                self._unfinished -= 1
                self.failure = self.failure or error
                self._changed.notify_all()

        future.add_done_callback(settle)
