"""Time zones by name, always from the pinned tzdata package, so that every host plans the same instants.

Owns loading and caching. The system's zone files are not asked: the preview and the claim may run on two machines.
"""

import importlib.metadata
import importlib.resources
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from jobs.calendar.errors import ScheduleInvalidError

TZDATA_VERSION: Final = importlib.metadata.version("tzdata")


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
    with importlib.resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)
