"""Time zones by name, from the pinned tzdata package: every machine puts one backup into the same day.

Owns loading and caching. The system's zone files are not asked: a plan may be made on one machine and read on another.
"""

import importlib.resources
from functools import lru_cache
from zoneinfo import ZoneInfo

from repositories.engine.display import show_text
from repositories.engine.errors import ConfigurationError


@lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    text = importlib.resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    return frozenset(text.split())


@lru_cache(maxsize=64)
def load_zone(name: str) -> ZoneInfo:
    """Return the zone; raises ConfigurationError for a name that the zone data does not hold."""
    if name not in _zone_names():
        raise ConfigurationError(
            f"{show_text(name)} is not the name of a time zone", hint="write it as Europe/Berlin, or UTC"
        )
    with importlib.resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)
