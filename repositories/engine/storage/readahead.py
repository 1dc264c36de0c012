"""Reading ahead: a storage wrapper that fetches what was announced, several ranges at once and neighbours together.

Owns the bound on bytes and the threads. Far away each read costs a round trip, however small it is: ranges of one
object with little between them become one request. What is announced comes in the order in which it will be read, so
that what has no room yet waits: it is needed last. What is never read after all gives its room up much later. Errors of
fetching ahead are never raised: the read itself is made anew and tells. What is given up nobody waits for: requests
that are under way end by themselves.
"""

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError, ThreadPoolExecutor
from typing import Final

from repositories.engine.errors import EngineError, OperationCancelledError
from repositories.engine.limits import KIB, MIB
from repositories.engine.storage.base import ObjectRange, Storage, StoredObject
from repositories.engine.storage.delegating import DelegatingStorage

_BUDGET: Final = 96 * MIB
_FARTHEST: Final = 4
"""Budgets of bytes: nobody announces so far ahead of reading. What was announced longer ago nobody reads any more."""
_LONGEST: Final = 4 * MIB
_GAP: Final = 128 * KIB


class _Fetch:
    """One request; `unread` are the ranges in it that nobody has asked for yet, `data` is None before it is begun.

    `after` = how many bytes were announced before it.
    """

    def __init__(self, ranges: Sequence[ObjectRange], after: int) -> None:
        self.name = ranges[0].name
        self.offset = ranges[0].offset
        self.length = max(each.offset + each.length for each in ranges) - self.offset
        self.after = after
        self.unread = set(ranges)
        self.data: Future[bytes] | None = None


class ReadAheadStorage(DelegatingStorage):
    """Passes everything to `inner`; `get` of a range that is being fetched waits for it. Thread safe as `inner` is.

    At most `budget` bytes are fetched or being fetched and not read yet.
    """

    def __init__(self, inner: Storage, budget: int = _BUDGET) -> None:
        super().__init__(inner)
        self._budget = budget
        self._held = 0
        self._announced = 0
        self._fetches: dict[_Fetch, None] = {}
        self._waiting: dict[_Fetch, None] = {}
        self._by_range: dict[ObjectRange, _Fetch] = {}
        self._under_way: set[Future[bytes]] = set()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(inner.reads_at_once, "syncova-ahead")

    def will_read(self, ranges: Iterable[ObjectRange]) -> None:
        """Fetch these ranges, in their order as far as they are not neighbours, as soon as there is room."""
        with self._lock:
            new = [each for each in dict.fromkeys(ranges) if each not in self._by_range]
            for together in coalesced(new):
                fetch = _Fetch(together, self._announced)
                self._announced += fetch.length
                self._fetches[fetch] = self._waiting[fetch] = None
                self._by_range.update(dict.fromkeys(together, fetch))
            self._go_on()

    def give_up_reading(self) -> None:
        """Begin nothing more that was announced, and let nobody wait for what is under way."""
        with self._lock:
            for fetch in tuple(self._fetches):
                self._drop(fetch)
            under_way = tuple(self._under_way)
        for data in under_way:
            with contextlib.suppress(InvalidStateError):
                data.set_exception(OperationCancelledError("reading ahead was given up", hint="run it again"))

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read; from what was fetched ahead if it was announced so. OperationCancelledError: that was given up."""
        fetch = None if length is None else self._taken(ObjectRange(name, offset, length))
        if fetch is not None and fetch.data is not None and length is not None:
            begin = offset - fetch.offset
            try:
                return fetch.data.result()[begin : begin + length]
            except OperationCancelledError:
                raise
            except (EngineError, CancelledError):
                pass
        return self.inner.get(name, offset, length)

    def list_all(self, prefixes: Sequence[str]) -> Iterator[StoredObject]:
        """List several prefixes at once."""

        def whole(prefix: str) -> tuple[StoredObject, ...]:
            return tuple(self.inner.list(prefix))

        listings = [self._pool.submit(whole, each) for each in prefixes[1:]]
        yield from self.inner.list(prefixes[0])
        for listing in listings:
            yield from listing.result()

    def move(self, name: str, target: str) -> None:
        """Give an object another name."""
        self.inner.move(name, target)

    def _taken(self, wanted: ObjectRange) -> _Fetch | None:
        """Return the request that a range is in; the last range lets go of it."""
        with self._lock:
            fetch = self._by_range.pop(wanted, None)
            if fetch is not None:
                fetch.unread.discard(wanted)
                if not fetch.unread:
                    self._drop(fetch)
                self._go_on()
            return fetch

    def _go_on(self) -> None:
        """Give up what nobody will read any more, and begin what there is room for."""
        forgotten = self._announced - _FARTHEST * self._budget
        while self._fetches and (oldest := next(iter(self._fetches))).after < forgotten:
            self._drop(oldest)
            if oldest.data is not None:
                oldest.data.cancel()
        while self._waiting:
            fetch = next(iter(self._waiting))
            if self._held and self._held + fetch.length > self._budget:
                return
            del self._waiting[fetch]
            self._held += fetch.length
            data = fetch.data = Future()
            self._under_way.add(data)
            self._pool.submit(self._fetch, fetch, data)

    def _fetch(self, fetch: _Fetch, data: Future[bytes]) -> None:
        """Fetch, unless that was given up before its turn came."""
        with contextlib.suppress(InvalidStateError):
            try:
                if not data.done():
                    data.set_result(self.inner.get(fetch.name, fetch.offset, fetch.length))
            except EngineError as error:
                data.set_exception(error)
            finally:
                with self._lock:
                    self._under_way.discard(data)

    def _drop(self, fetch: _Fetch) -> None:
        del self._fetches[fetch]
        if fetch.data is None:
            del self._waiting[fetch]
        else:
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
