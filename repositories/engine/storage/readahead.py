"""Reading ahead: a storage wrapper that fetches what was announced, several ranges at once and neighbours together.

Owns the bound on bytes and the threads. Far away each read costs a round trip, however small it is: ranges of one
object with little between them become one request. What was announced and never read makes room for what is announced
later. Errors of fetching ahead are never raised: the read itself is made anew and tells.
"""

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Final

from repositories.engine.errors import EngineError
from repositories.engine.limits import KIB, MIB
from repositories.engine.storage.base import ObjectRange, Storage, StoredObject

_BUDGET: Final = 96 * MIB
_LONGEST: Final = 4 * MIB
_GAP: Final = 128 * KIB


class _Fetch:
    """One request under way; `unread` are the ranges in it that nobody has asked for yet."""

    def __init__(self, ranges: Sequence[ObjectRange]) -> None:
        self.name = ranges[0].name
        self.offset = ranges[0].offset
        self.length = max(each.offset + each.length for each in ranges) - self.offset
        self.unread = set(ranges)
        self.data: Future[bytes] = Future()


class ReadAheadStorage(Storage):
    """Passes everything to `inner`; `get` of an announced range waits for its fetch. Thread safe as `inner` is.

    At most `budget` bytes are fetched or being fetched and not read yet.
    """

    def __init__(self, inner: Storage, budget: int = _BUDGET) -> None:
        self.inner = inner
        self._budget = budget
        self._held = 0
        self._fetches: dict[_Fetch, None] = {}
        self._by_range: dict[ObjectRange, _Fetch] = {}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(inner.reads_at_once, "syncova-ahead")

    @property
    def place(self) -> str:
        """Return where the medium is."""
        return self.inner.place

    @property
    def refuses_existing(self) -> bool:
        """Tell whether a name that is there is refused."""
        return self.inner.refuses_existing

    @property
    def puts_at_once(self) -> int:
        """Return how many packs may be under way."""
        return self.inner.puts_at_once

    @property
    def reads_at_once(self) -> int:
        """Return how many reads may be under way."""
        return self.inner.reads_at_once

    def will_read(self, ranges: Iterable[ObjectRange]) -> None:
        """Fetch these ranges, in their order as far as they are not neighbours."""
        with self._lock:
            new = [each for each in dict.fromkeys(ranges) if each not in self._by_range]
            for together in coalesced(new):
                self._start(_Fetch(together))

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read; from what was fetched ahead if it was announced so."""
        fetch = None if length is None else self._taken(ObjectRange(name, offset, length))
        if fetch is not None and length is not None:
            with contextlib.suppress(EngineError, CancelledError):
                begin = offset - fetch.offset
                return fetch.data.result()[begin : begin + length]
        return self.inner.get(name, offset, length)

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Put."""
        self.inner.put(name, data, overwrite=overwrite)

    def put_file(self, name: str, path: str) -> None:
        """Put a file."""
        self.inner.put_file(name, path)

    def size(self, name: str) -> int:
        """Return the size."""
        return self.inner.size(name)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """List."""
        return self.inner.list(prefix)

    def list_all(self, prefixes: Sequence[str]) -> Iterator[StoredObject]:
        """List several prefixes at once."""

        def whole(prefix: str) -> tuple[StoredObject, ...]:
            return tuple(self.inner.list(prefix))

        listings = [self._pool.submit(whole, each) for each in prefixes[1:]]
        yield from self.inner.list(prefixes[0])
        for listing in listings:
            yield from listing.result()

    def delete(self, name: str) -> None:
        """Remove an object."""
        self.inner.delete(name)

    def move(self, name: str, target: str) -> None:
        """Give an object another name."""
        self.inner.move(name, target)

    def free_space(self) -> int | None:
        """Return the free bytes."""
        return self.inner.free_space()

    def listing_delay(self) -> float:
        """Return how long others may see older listings."""
        return self.inner.listing_delay()

    def prepare(self) -> None:
        """Prepare the medium."""
        self.inner.prepare()

    def _start(self, fetch: _Fetch) -> None:
        while self._fetches and self._held + fetch.length > self._budget:
            oldest = next(iter(self._fetches))
            oldest.data.cancel()
            self._drop(oldest)
        self._fetches[fetch] = None
        self._held += fetch.length
        self._by_range.update(dict.fromkeys(fetch.unread, fetch))
        fetch.data = self._pool.submit(self.inner.get, fetch.name, fetch.offset, fetch.length)

    def _taken(self, wanted: ObjectRange) -> _Fetch | None:
        """Return the request that a range is in; the last range lets go of it."""
        with self._lock:
            fetch = self._by_range.pop(wanted, None)
            if fetch is not None:
                fetch.unread.discard(wanted)
                if not fetch.unread:
                    self._drop(fetch)
            return fetch

    def _drop(self, fetch: _Fetch) -> None:
        del self._fetches[fetch]
        self._held -= fetch.length
        for each in fetch.unread:
            self._by_range.pop(each, None)


def coalesced(ranges: Iterable[ObjectRange], longest: int = _LONGEST, gap: int = _GAP) -> list[list[ObjectRange]]:
    """Return ranges in groups that are worth one request each; groups come in the order of their first ranges.

    A group lies in one object, has at most `gap` bytes between its ranges, and spans at most `longest` bytes if it has
    more than one.
    """
    objects: dict[str, list[ObjectRange]] = {}
    for each in ranges:
        objects.setdefault(each.name, []).append(each)
    groups: list[list[ObjectRange]] = []
    for found in objects.values():
        found.sort(key=lambda each: each.offset)
        begin = end = 0
        for each in found:
            after = each.offset + each.length
            if each is found[0] or each.offset > end + gap or after - begin > longest:
                groups.append([])
                begin = each.offset
                end = begin
            groups[-1].append(each)
            end = max(end, after)
    return groups
