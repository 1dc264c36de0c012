"""Listing a tree of directories in text order, several directories at a time.

Owns order and look-ahead. A directory far away costs a round trip, and packs lie in 256 of them. Touches no medium
itself: `scan` lists one directory.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from repositories.engine.storage.base import StoredObject

_AHEAD: Final = 32


@dataclass(frozen=True, slots=True)
class Listed:
    """What one directory holds: directories as prefixes (`a/b/`), and objects; both by their whole names."""

    directories: tuple[str, ...] = ()
    objects: tuple[StoredObject, ...] = ()


Scan = Callable[[str], Listed]


def walk(prefix: str, after: str, scan: Scan, at_once: int) -> Iterator[StoredObject]:
    """Yield the objects below `prefix` whose names come after `after`, in text order.

    `scan` is called by `at_once` threads. Raises what it raises.
    """
    pool = ThreadPoolExecutor(at_once, "syncova-scan")
    try:
        yield from _below(scan(prefix), after, scan, pool)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _below(listed: Listed, after: str, scan: Scan, pool: ThreadPoolExecutor) -> Iterator[StoredObject]:
    wanted = [each for each in listed.directories if each > after or after.startswith(each)]
    items: list[tuple[str, StoredObject | None]] = [(each, None) for each in wanted]
    items += [(each.name, each) for each in listed.objects if each.name > after]
    items.sort(key=lambda item: item[0])
    coming = iter([name for name, stored in items if stored is None])
    ahead: deque[Future[Listed]] = deque()
    _look_ahead(ahead, coming, scan, pool)
    for _, stored in items:
        if stored is not None:
            yield stored
            continue
        deeper = ahead.popleft().result()
        _look_ahead(ahead, coming, scan, pool)
        yield from _below(deeper, after, scan, pool)


def _look_ahead(ahead: deque[Future[Listed]], coming: Iterator[str], scan: Scan, pool: ThreadPoolExecutor) -> None:
    while len(ahead) < _AHEAD and (name := next(coming, None)) is not None:
        ahead.append(pool.submit(scan, name))
