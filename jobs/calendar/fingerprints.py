"""Whether a stored instant is still the right one: a digest of what it follows from, and of its zone's rules.

Owns both marks. A row carries them beside its instant.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from jobs.calendar.plans import Plan
from jobs.calendar.zones import TZDATA_VERSION, rules_of

# The rules of kinds that follow no zone, which never change.
NO_ZONE: Final = "-"
_ZONELESS: Final = frozenset({"interval", "manual"})


def fingerprint(plan: Plan, *, anchor: dt.datetime) -> str:
    """Return the digest of kind, times, zone, anchor and the version of the zone rules.

    An interval follows no zone and a wall clock no anchor: neither is recomputed for the other's sake.
    """
    return _digest(plan, anchor if plan.kind == "interval" else None)


def zone_rules(plan: Plan) -> str:
    """Return the plan's zone with a digest of its rules, NO_ZONE for a kind that follows none."""
    return NO_ZONE if plan.kind in _ZONELESS else rules_of(plan.zone_name)


def zone_rules_of(definition: object) -> str:
    """Return the same for JSON that cannot be planned: the zone that it names, be it unknown."""
    name = definition.get("time_zone") if isinstance(definition, Mapping) else None
    return rules_of(name if isinstance(name, str) and name else "UTC")


def is_stale(rules: str) -> bool:
    """Tell whether what a row says of its zone's rules is not what they are now; "" says nothing and is."""
    return rules != NO_ZONE and (not rules or rules != rules_of(rules.partition(" ")[0]))


@lru_cache(maxsize=4096)
def _digest(plan: Plan, anchor: dt.datetime | None) -> str:
    """Kept, since hundreds of schedules are due at one instant by the same words."""
    if anchor is not None:
        grounds = [dict(plan.definition()), anchor.astimezone(dt.UTC).isoformat()]
    else:
        grounds = [dict(plan.definition()), TZDATA_VERSION]
    return hashlib.sha256(json.dumps(grounds, sort_keys=True).encode()).hexdigest()[:32]
