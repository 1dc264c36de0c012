"""An independent and slow account of keep rules: each backup is compared with every other, calendars by arithmetic.

No text of a date, no library's weeks: an instant's place is counted in seconds of its zone's clock.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from zoneinfo import ZoneInfo

from repositories.engine.retention.policy import Facts, KeepRules

SECOND = 10**9
Place = Callable[[int, int], object]


def civil(days: int) -> tuple[int, int]:
    """Return (year, month) of a day counted from 1970-01-01, year by year and month by month."""
    year = 1970
    while days < 0:
        year -= 1
        days += 366 if leap(year) else 365
    while days >= (length := 366 if leap(year) else 365):
        days -= length
        year += 1
    for month in range(1, 13):
        length = {2: 29 if leap(year) else 28, 4: 30, 6: 30, 9: 30, 11: 30}.get(month, 31)
        if days < length:
            return year, month
        days -= length
    raise AssertionError


def leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


# Of (seconds of the local clock since 1970, offset): what makes two instants one period. 1970-01-01 was a Thursday.
PLACES: dict[str, Place] = {
    "hourly": lambda local, offset: (local // 3600, offset),
    "daily": lambda local, _: local // 86400,
    "weekly": lambda local, _: (local // 86400 + 3) // 7,
    "monthly": lambda local, _: civil(local // 86400),
    "yearly": lambda local, _: civil(local // 86400)[0],
}


def place(ns: int, zone: ZoneInfo, rule: str) -> object:
    seconds = ns // SECOND
    offset = dt.datetime.fromtimestamp(seconds, zone).utcoffset()
    assert offset is not None
    shift = offset.days * 86400 + offset.seconds
    return PLACES[rule](seconds + shift, shift)


def newer(one: Facts, other: Facts) -> bool:
    mine, theirs = one.received_ns // SECOND, other.received_ns // SECOND
    if mine != theirs:
        return mine > theirs
    return (one.sequence, one.manifest_id) > (other.sequence, other.manifest_id)


def kept(backups: Sequence[Facts], rules: KeepRules, now_ns: int, zone: ZoneInfo) -> set[str]:
    """Return the manifests that stay."""
    stay: set[str] = set()
    for each in backups:
        source = [other for other in backups if other.source == each.source]
        counted = [other for other in source if other.received_ns <= now_ns + 300 * SECOND]
        held = any(hold.until_ns is None or hold.until_ns > now_ns for hold in each.holds)
        if each not in counted or held or ruled(each, counted, rules, zone):
            stay.add(each.manifest_id)
    for each in backups:
        mates = [other for other in backups if other.source == each.source]
        counted = [other for other in mates if other.received_ns <= now_ns + 300 * SECOND]
        candidates = [other for other in counted if other.good] or counted
        if each in candidates and not any(newer(other, each) for other in candidates):
            stay.add(each.manifest_id)
    return stay


def ruled(each: Facts, counted: Sequence[Facts], rules: KeepRules, zone: ZoneInfo) -> bool:
    above = [other for other in counted if newer(other, each)]
    if len(above) < rules.last or each.tags & rules.tags:
        return True
    newest = next(other for other in counted if not any(newer(third, other) for third in counted))
    if rules.within_ns and each.received_ns >= newest.received_ns - rules.within_ns:
        return True
    return any(fills(each, above, counted, rules, zone, rule) for rule in PLACES)


def fills(
    each: Facts, above: Sequence[Facts], counted: Sequence[Facts], rules: KeepRules, zone: ZoneInfo, rule: str
) -> bool:
    wanted = getattr(rules, rule)
    mine = place(each.received_ns, zone, rule)
    places_above = {place(other.received_ns, zone, rule) for other in above}
    if mine not in places_above and len(places_above) < wanted:
        return True
    oldest = len(above) == len(counted) - 1
    return oldest and len({*places_above, mine}) < wanted
