"""Doing the same with many objects, or several things that need nothing of each other, at once where the medium is far.

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


def both(first: Callable[[], _A], second: Callable[[], _B], at_once: int) -> tuple[_A, _B]:
    """Return what two looks return that need nothing of each other. Raises what they raise, the first one's before.

    Near by they come one after the other, and the second one not at all where the first one fails.
    """
    if at_once < 2:
        return first(), second()
    with ThreadPoolExecutor(1, "syncova-side") as pool:
        beside = pool.submit(second)
        found = first()
        return found, beside.result()
