"""Where the present request comes from, for the audit trail.

Owns one context variable that the request's edge sets; everything that does not answer a request sees the empty
origin. Decides nothing by it: addresses are evidence, never a right.
"""

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """The request's id, and the address that its connection came from."""

    request_id: str = ""
    address: str = ""


NO_ORIGIN = Origin()
_current: contextvars.ContextVar[Origin] = contextvars.ContextVar("syncova_origin", default=NO_ORIGIN)


def current_origin() -> Origin:
    """Return the origin of the request that this thread answers, or the empty one."""
    return _current.get()


@contextmanager
def request_origin(origin: Origin) -> Iterator[None]:
    """Set the origin for the time of the block."""
    token = _current.set(origin)
    try:
        yield
    finally:
        _current.reset(token)
