"""Doing the same with many objects, or several things that need nothing of each other, at once where the medium is far.

Owns the threads of one such round. A repository of a year has hundreds of small objects to read, each a round trip.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

_A = TypeVar("_A")
_B = TypeVar("_B")


def side_by_side(act: Callable[[_A], _B], items: Sequence[_A], at_once: int) -> Iterator[_B]:
    """Yield what `act` returns for each item, in order. Raises what it raises, at the item that it was raised for."""
    if at_once < 2 or len(items) < 2:
        yield from map(act, items)
        return
    with _threads(min(at_once, len(items))) as pool:
        yield from pool.map(act, items)


def both(first: Callable[[], _A], second: Callable[[], _B], at_once: int) -> tuple[_A, _B]:
    """Return what two looks return that need nothing of each other. Raises what they raise, the first one's before.

    Near by they come one after the other, and the second one not at all where the first one fails.
    """
    if at_once < 2:
        return first(), second()
    with _threads(1) as pool:
        beside = pool.submit(second)
        found = first()
        return found, beside.result()


@contextmanager
def _threads(most: int) -> Iterator[ThreadPoolExecutor]:
    """Wait for the threads at the end, but not when this thread was interrupted (P9: over within 5 s).

    A server that does not answer would hold them for minutes; the program leaves without them.
    """
    pool = ThreadPoolExecutor(most, "syncova-side")
    wait = True
    try:
        yield pool
    except (Exception, GeneratorExit):
        raise
    except BaseException:
        wait = False
        raise
    finally:
        pool.shutdown(wait=wait, cancel_futures=True)
