"""The JSON of windows: both shapes, defaults, and errors that name the field (B7-B9)."""

import datetime as dt
from typing import Any

import pytest

from jobs import windows
from jobs.states import RunKind

NIGHT = {"type": "allowed", "days": ["fri", "mon"], "start": "22:00", "length_seconds": 28800}
ONCE = {"type": "blackout", "starts_at": "2026-12-01T08:00:00+01:00", "ends_at": "2026-12-02T08:00:00+01:00"}


@pytest.mark.parametrize("definition", [NIGHT, ONCE, NIGHT | {"kinds": ["check"], "time_zone": "Europe/Berlin"}])
def test_what_is_written_reads_equal(definition: dict[str, Any]) -> None:
    rule = windows.parse(definition)
    assert windows.parse(windows.definition_of(rule)) == rule


def test_defaults() -> None:
    """execution.md, section 2: backup and prune; section 4: a zone of its own when recurring, UTC unless told."""
    rule = windows.parse({"type": "blackout", "start": "08:00", "length_seconds": 60})
    assert rule.kinds == {RunKind.BACKUP, RunKind.PRUNE}
    assert rule.shape == windows.Recurring(frozenset(range(1, 8)), dt.time(8), dt.timedelta(minutes=1), "UTC")
    assert (rule.level, rule.owner, rule.name) == (windows.Level.INSTALLATION, "", "blackout")


@pytest.mark.parametrize(
    ("definition", "field"),
    [
        ([], "window"),
        ({}, "type"),
        (NIGHT | {"type": "maybe"}, "type"),
        (NIGHT | {"days": []}, "days"),
        (NIGHT | {"days": ["monday"]}, "days"),
        (NIGHT | {"days": "mon"}, "days"),
        (NIGHT | {"days": [{}]}, "days"),
        (NIGHT | {"start": "24:00"}, "start"),
        (NIGHT | {"start": None}, "start"),
        (NIGHT | {"length_seconds": 0}, "length_seconds"),
        (NIGHT | {"length_seconds": 7 * 86400 + 1}, "length_seconds"),
        (NIGHT | {"length_seconds": True}, "length_seconds"),
        (NIGHT | {"end": "06:00"}, "end"),
        (NIGHT | {"time_zone": "Europe/Atlantis"}, "time_zone"),
        (NIGHT | {"kinds": ["restore"]}, "kinds"),
        (NIGHT | {"kinds": []}, "kinds"),
        (NIGHT | {"level": "galaxy"}, "level"),
        (ONCE | {"ends_at": ONCE["starts_at"]}, "ends_at"),
        (ONCE | {"ends_at": None}, "ends_at"),
        (ONCE | {"starts_at": None}, "starts_at"),
        (ONCE | {"starts_at": "2026-12-01T08:00:00"}, "starts_at"),
        (ONCE | {"days": ["mon"]}, "days"),
        (ONCE | {"time_zone": "UTC"}, "time_zone"),
    ],
)
def test_what_is_wrong_is_named(definition: Any, field: str) -> None:
    with pytest.raises(windows.WindowInvalidError) as caught:
        windows.parse(definition)
    assert caught.value.field == field


def test_an_error_in_a_list_names_its_place() -> None:
    with pytest.raises(windows.WindowInvalidError, match=r"^windows\.1\.type: must be one of"):
        windows.parse_all([NIGHT, {"type": "maybe"}])
    with pytest.raises(windows.WindowInvalidError, match=r"^windows: must be a list"):
        windows.parse_all({"type": "allowed"})
    assert windows.parse_all([]) == []
