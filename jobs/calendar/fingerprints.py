"""Whether a stored instant is still the right one: a digest of all that instants follow from."""

import datetime as dt
import hashlib
import json

from jobs.calendar.plans import Plan
from jobs.calendar.zones import TZDATA_VERSION


def fingerprint(plan: Plan, *, anchor: dt.datetime) -> str:
    """Return the digest of kind, times, zone, anchor and the version of the zone rules.

    An interval follows no zone and a wall clock no anchor: neither is recomputed for the other's sake.
    """
    if plan.kind == "interval":
        grounds = [dict(plan.definition()), anchor.astimezone(dt.UTC).isoformat()]
    else:
        grounds = [dict(plan.definition()), TZDATA_VERSION]
    return hashlib.sha256(json.dumps(grounds, sort_keys=True).encode()).hexdigest()[:32]
