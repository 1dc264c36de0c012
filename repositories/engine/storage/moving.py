"""Waiting for a transfer for as long as it gets on, however slow the way is.

Owns what getting on means: this process's connections carry bytes, by the kernel's own count of what the other side has
acknowledged and of what came. Libraries tell nothing of an upload before its answer; a limit on its time alone would
end every one over a slow way, and one that such a way suits would make everybody wait for a server that hangs.
"""

import asyncio
import contextlib
import os
import socket
import stat
import struct
from collections.abc import Coroutine, Iterator
from typing import Any, Final, TypeVar

STILL_SECONDS: Final = 60.0
"""For so long a transfer may stand still."""
LONGEST_SECONDS: Final = 1800.0
"""One that stands still by itself, while others get on, is given up after so long."""
_ENOUGH: Final = 65_536
"""Less than so many bytes is no transfer, but the small requests beside it."""
_DESCRIPTORS: Final = "/proc/self/fd"
# In the kernel's struct tcp_info: bytes acknowledged, bytes received.
_COUNTS: Final = struct.Struct("=QQ")
_COUNTS_AT: Final = 120
_T = TypeVar("_T")


def carried() -> dict[int, int]:
    """Return the bytes that each TCP connection of this process has carried so far; none where nobody counts them."""
    counts: dict[int, int] = {}
    if not hasattr(socket, "TCP_INFO"):
        return counts
    with contextlib.suppress(OSError):
        for name in os.listdir(_DESCRIPTORS):
            # Closed meanwhile, no connection, or a kernel that counts less.
            with contextlib.suppress(OSError, struct.error):
                _count(int(name), counts)
    return counts


def _count(number: int, counts: dict[int, int]) -> None:
    descriptor = os.dup(number)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISSOCK(found.st_mode):
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=descriptor)
            try:
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _COUNTS_AT + _COUNTS.size)
            finally:
                connection.detach()
            counts[found.st_ino] = sum(_COUNTS.unpack_from(info, _COUNTS_AT))
    finally:
        os.close(descriptor)


def moved(before: dict[int, int], now: dict[int, int]) -> int:
    """Return how many bytes connections have carried between two looks; what was closed meanwhile is not counted."""
    return sum(max(0, count - before.get(each, 0)) for each, count in now.items())


class Holds:
    """Waiting for a limit of ours: no sign of a server that hangs. `now` do, `ended` have so far."""

    def __init__(self) -> None:
        self.now = 0
        self.ended = 0

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Wait within; in the loop alone."""
        self.now += 1
        try:
            yield
        finally:
            self.now -= 1
            self.ended += 1


async def while_moving(
    work: Coroutine[Any, Any, _T],
    still: float = STILL_SECONDS,
    longest: float = LONGEST_SECONDS,
    holds: Holds | None = None,
) -> _T:
    """Return what `work` returns; TimeoutError when for `still` seconds hardly a byte was carried, or after `longest`.

    Where there were `holds` the next look decides. Work that is given up is cancelled and not waited for.
    """
    task = asyncio.ensure_future(work)
    try:
        # A look costs more than most requests take: it is made of those that take longer.
        if not await _has_ended(task, still / 12):
            await _watch(task, still * 11 / 12, longest, holds or Holds())
        return task.result()
    finally:
        task.cancel()


async def _watch(task: "asyncio.Future[Any]", still: float, longest: float, holds: Holds) -> None:
    waited, before, ended = 0.0, carried(), holds.ended
    while not await _has_ended(task, still):
        waited, now = waited + still, carried()
        is_held = holds.now or holds.ended != ended
        if not is_held and (waited >= longest or moved(before, now) < _ENOUGH):
            raise TimeoutError
        before, ended = now, holds.ended


async def _has_ended(task: "asyncio.Future[Any]", seconds: float) -> bool:
    return bool((await asyncio.wait((task,), timeout=seconds))[0])
