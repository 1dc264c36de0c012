"""Processes that are forked to do a part of an operation's work with an interpreter of their own.

Owns what each of them must do first and last: end with who forked it, leave signals to that, hold nothing open that is
not its own. What they do, and what becomes of it when they die, is their owner's.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from typing import IO, Final

from repositories.engine.ties import die_with_parent

_MOST_DESCRIPTORS: Final = 1 << 20
_GRACE_MILLISECONDS: Final = 2000


def processors() -> int:
    """Return for how many processes there are processors; 1 on other systems than Linux, whose libraries fear forks."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def fork(live: Callable[[], None], kept: Callable[[], Iterable[int]]) -> int:
    """Return a new process that runs `live` and ends; it keeps open what `kept` returns. Raises OSError.

    An OSError of `live` ends it silently: nobody is there any more who would want its work.
    """
    parent = os.getpid()
    with warnings.catch_warnings():
        # Other threads are a danger to a fork that goes on to use what they had locked: none of these does.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            with contextlib.suppress(OSError):
                _prepare(kept())
                if os.getppid() == parent:
                    live()
        except BaseException:  # noqa: BLE001  (the edge of a process: the operation goes on without it)
            traceback.print_exc()
        finally:
            os._exit(0)
    return pid


def end(pid: int, channel: socket.socket | IO[bytes]) -> int | None:
    """Kill a process, and close our end of its channel; return how it ended, None if it is stuck in the kernel."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    poll = select.poll()
    poll.register(channel, 0)
    # Nothing is asked for but the end, which is always told.
    is_over = bool(poll.poll(_GRACE_MILLISECONDS))
    channel.close()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if is_over else None


def ending(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None:
        return "does not answer"
    if code >= 0:
        return f"ended by itself with {code}"
    try:
        return f"was ended by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"was ended by signal {-code}"


def _prepare(kept: Iterable[int]) -> None:
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    begin = 3
    for descriptor in sorted(kept):
        os.closerange(begin, descriptor)
        begin = descriptor + 1
    os.closerange(begin, _MOST_DESCRIPTORS)
    gc.freeze()
