"""The one clock: every other module takes `now=` or asks here (lint bans the rest).

Owns reading wall and monotonic time. Must not import Django: the command-line programs use it too.
"""

import datetime as dt
import time


def now() -> dt.datetime:
    """Return this host's wall time, aware, UTC."""
    return dt.datetime.now(dt.UTC)


def monotonic() -> float:
    """Return seconds of a clock that never jumps; only differences mean anything."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    """Block the calling thread for `seconds`."""
    time.sleep(seconds)
