"""Why a backup stays or goes, as people read it. Owns the words alone."""

from repositories.engine.display import show_text, show_time
from repositories.engine.retention.policy import Reason

_FIXED = {
    "within": "within the time given",
    "last-good": "last good backup of its source",
    "only": "all that is left of its source",
    "future": "dated in the future, ignored by all rules",
    "unselected": "not looked at",
    "asked": "named",
    "none": "no rule keeps it",
}


def reason_text(reason: Reason) -> str:
    """Return one reason: `daily 2026-11-28 (3 of 7)`, `last 2 of 3`, `hold until …: audit`."""
    if reason.rule in _FIXED:
        return _FIXED[reason.rule]
    if reason.rule == "last":
        return f"last {reason.number} of {reason.of}"
    if reason.rule == "tag":
        return f"tag {show_text(reason.bucket)}"
    if reason.rule == "hold":
        until = "" if reason.until_ns is None else f" until {show_time(reason.until_ns)}"
        return f"hold{until}: {show_text(reason.bucket)}"
    place = f"({reason.number} of {reason.of})"
    if reason.oldest:
        return f"oldest, while {reason.rule} is not full {place}"
    return f"{reason.rule} {reason.bucket} {place}"
