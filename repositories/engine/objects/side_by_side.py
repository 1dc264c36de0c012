"""Doing the same with many objects, several at once where the medium is far away.

Owns the threads of one such round. A repository of a year has hundreds of small objects to read, each a round trip.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_A = TypeVar("_A")
_B = TypeVar("_B")


def side_by_side(act: Callable[[_A], _B], items: Sequence[_A], at_once: int) -> Iterator[_B]:
    """Yield what `act` returns for each item, in order. Raises what it raises, at the item that it was raised for."""
    if at_once < 2 or len(items) < 2:
        yield from map(act, items)
        return
    pool = ThreadPoolExecutor(min(at_once, len(items)), "syncova-side")
    try:
        yield from pool.map(act, items)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
