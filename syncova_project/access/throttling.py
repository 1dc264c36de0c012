"""How many requests a token and an address may make: buckets that fill at a steady rate, in this process's memory.

Owns the buckets. Asks no server: a limit must not slow what it protects, nor hang with it. Each web process counts for
itself, and a restart forgets; what must not be forgotten, refused logins, is lockout's.
"""

import threading
from collections import OrderedDict
from typing import Final

from django.conf import settings
from rest_framework.exceptions import Throttled

from syncova_project import clock
from syncova_project.access.addresses import neighbourhood
from syncova_project.access.origin import current_origin
from syncova_project.access.principals import Principal

# What may come at once after a rest, in seconds of the rate.
BURST_SECONDS: Final = 10.0
# A request that shows no valid token costs as much as so many that do.
REFUSED_COSTS: Final = 20
MOST_KEYS: Final = 10_000


class Buckets:
    """Counts by key; thread safe, of bounded size: the key that was not seen for the longest is forgotten first."""

    def __init__(self) -> None:
        self._full_at: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str, rate: int, *, cost: int = 1, now: float) -> float:
        """Take `cost` out of the key's bucket and return 0, or take nothing and return the seconds to wait.

        `rate` is what flows in each second; 0 means no limit.
        """
        if rate == 0:
            return 0.0
        with self._lock:
            # The moment at which the bucket will be full again tells all about it.
            full_at = max(self._full_at.get(key, now), now) + cost / rate
            wait = full_at - now - BURST_SECONDS
            if wait > 0:
                return wait
            self._full_at[key] = full_at
            self._full_at.move_to_end(key)
            if len(self._full_at) > MOST_KEYS:
                self._full_at.popitem(last=False)
        return 0.0

    def forget(self) -> None:
        """Let every bucket be full."""
        with self._lock:
            self._full_at.clear()


BUCKETS: Final = Buckets()


def throttle_address() -> None:
    """Count the present request against its address; raises Throttled."""
    _take(f"address {neighbourhood(current_origin().address)}", settings.SYNCOVA_ADDRESS_RATE)


def throttle_refused() -> None:
    """Count a request without a valid token once more: guessing is slow. Raises Throttled."""
    rate = settings.SYNCOVA_ADDRESS_RATE
    _take(f"address {neighbourhood(current_origin().address)}", rate, cost=min(REFUSED_COSTS, rate))


def throttle_principal(user: object) -> None:
    """Count the present request against the token or person that makes it; raises Throttled."""
    if isinstance(user, Principal):
        _take(user.actor, settings.SYNCOVA_TOKEN_RATE)


def _take(key: str, rate: int, cost: int = 1) -> None:
    wait = BUCKETS.take(key, rate, cost=cost, now=clock.monotonic())
    if wait > 0:
        raise Throttled(wait=wait)
