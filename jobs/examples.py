"""Bodies that the API of jobs, windows and operations takes, as its description shows them (7.7).

Owns the examples alone; a test holds each against what reads it.
"""

from typing import Any, Final

_REPOSITORY: Final = "01935b5e-0c00-7abc-8def-0123456789ab"
_JOB: Final = "01935b5e-1100-7abc-8def-0123456789ab"
_NIGHTLY: Final = {"type": "daily", "time": "02:00", "time_zone": "Europe/Berlin"}
_HOURS: Final = {
    "type": "blackout",
    "days": ["mon", "tue", "wed", "thu", "fri"],
    "start": "08:00",
    "length_seconds": 36000,
    "time_zone": "Europe/Berlin",
}

NEW_JOB: Final[dict[str, Any]] = {
    "name": "home",
    "repository_id": _REPOSITORY,
    "sources": [{"type": "filesystem", "id": "/home", "exclude_patterns": ["*.tmp", "/home/*/.cache/"]}],
    "schedule": _NIGHTLY,
    "priority": "high",
    "bandwidth_limit_bps": 10485760,
    "max_attempts": 5,
    "rpo_seconds": 172800,
    "windows": [{"name": "office hours", **_HOURS}],
    "depends_on": [_JOB],
    "hooks": [{"moment": "before_job", "name": "dump-databases"}],
    "strict": False,
}
CHANGE: Final[dict[str, Any]] = {
    "rpo_seconds": None,
    "schedule": {**_NIGHTLY, "time": "03:00"},
    "windows": [{"name": "office hours", **_HOURS}],
}
DEPENDENCIES: Final[dict[str, Any]] = {"depends_on": [_JOB]}
RUN_ORDER: Final[dict[str, Any]] = {"ignore_windows": True}
SCHEDULE_PREVIEW: Final[dict[str, Any]] = {"schedule": _NIGHTLY, "count": 5}
WINDOW: Final[dict[str, Any]] = {"name": "office hours", "repository_id": _REPOSITORY, **_HOURS}
WINDOW_PREVIEW: Final[dict[str, Any]] = {**_HOURS, "count": 2}
CHECK: Final[dict[str, Any]] = {"read_data": True}
PRUNE: Final[dict[str, Any]] = {"dry_run": True, "max_unused_percent": 5.0}
FORGET: Final[dict[str, Any]] = {"keep_daily": 7, "keep_weekly": 5, "zone": "Europe/Berlin"}
COPY: Final[dict[str, Any]] = {"from_repository_id": _REPOSITORY, "source": "/home"}
RESTORE: Final[dict[str, Any]] = {"backup": "latest", "source": "/home", "target": "/srv/restores/home"}
UPKEEP: Final[dict[str, Any]] = {"schedule": _NIGHTLY, "order": {"keep_daily": 7}}
