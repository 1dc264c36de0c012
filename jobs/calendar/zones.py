"""Time zones by name, always from the pinned tzdata package, so that every host plans the same instants.

Owns loading, caching and by which rules a zone goes. The system's zone files are not asked: the preview and the claim
may run on two machines.
"""

import hashlib
import importlib.metadata
import importlib.resources
import io
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from jobs.calendar.errors import ScheduleInvalidError

TZDATA_VERSION: Final = importlib.metadata.version("tzdata")
# An index holds the names: what a row says in place of one must not break it.
LONGEST_NAME: Final = 100


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return every name that a schedule may use."""
    text = importlib.resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    return frozenset(text.split())


@lru_cache(maxsize=1024)
def load_zone(name: str) -> ZoneInfo:
    """Return the zone; raises ScheduleInvalidError for a name that the zone data does not hold."""
    if name not in zone_names():
        raise ScheduleInvalidError("time_zone", f"{name!r} is not the name of a time zone, such as Europe/Berlin.")
    return ZoneInfo.from_file(io.BytesIO(_data(name)), key=name)


@lru_cache(maxsize=1024)
def rules_of(name: str) -> str:
    """Return a zone's name with a digest of its rules; of one that the zone data does not hold, its name alone.

    Versions of the zone data differ in a handful of zones: only what follows those has to be computed anew.
    """
    if name not in zone_names():
        # No name has a space: it parts the name from the digest.
        return name[:LONGEST_NAME].replace(" ", "_").replace("\0", "_")
    return f"{name} {hashlib.sha256(_data(name)).hexdigest()[:16]}"


def _data(name: str) -> bytes:
    return importlib.resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes()
