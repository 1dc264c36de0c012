"""Buckets on the days when clocks change, and in the weeks at the ends of years (3.3; trap 55)."""

from repositories.engine.retention.policy import Reason
from tests.engine.retention.histories import at, series, stays


def test_a_day_of_25_hours_is_one_day_and_its_double_hour_two() -> None:
    backups = series(
        "2026-10-24T23:30:00+02:00",
        "2026-10-25T00:30:00+02:00",
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-25T23:30:00+01:00",
    )
    assert stays(backups, daily=2, zone="Europe/Berlin") == {
        5: [Reason("daily", "2026-10-25", 1, 2)],
        1: [Reason("daily", "2026-10-24", 2, 2)],
    }
    assert stays(backups, hourly=3, zone="Europe/Berlin") == {
        5: [Reason("hourly", "2026-10-25T23+01:00", 1, 3)],
        4: [Reason("hourly", "2026-10-25T02+01:00", 2, 3)],
        3: [Reason("hourly", "2026-10-25T02+02:00", 3, 3)],
    }
    # By UTC the first two lie in one day, and no hour comes twice.
    assert sorted(stays(backups, daily=2, zone="UTC")) == [2, 5]


def test_a_day_of_23_hours_is_one_day() -> None:
    backups = series(
        "2026-03-29T00:10:00+01:00",
        "2026-03-29T01:50:00+01:00",
        "2026-03-29T03:10:00+02:00",
        "2026-03-29T23:50:00+02:00",
    )
    assert stays(backups, daily=1, zone="Europe/Berlin") == {4: [Reason("daily", "2026-03-29", 1, 1)]}
    assert sorted(stays(backups, hourly=3, zone="Europe/Berlin")) == [2, 3, 4]


def test_a_clock_that_goes_back_half_an_hour() -> None:
    backups = series("2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "2026-04-05T02:10:00+10:30")
    assert stays(backups, hourly=3, zone="Australia/Lord_Howe") == {
        3: [Reason("hourly", "2026-04-05T02+10:30", 1, 3)],
        2: [Reason("hourly", "2026-04-05T01+10:30", 2, 3)],
        1: [Reason("hourly", "2026-04-05T01+11:00", 3, 3)],
    }


def test_a_zone_may_leave_a_day_out() -> None:
    """Samoa had no 30 December 2011."""
    backups = series("2011-12-29T23:00:00-10:00", "2011-12-31T00:30:00+14:00")
    assert stays(backups, daily=2, zone="Pacific/Apia") == {
        2: [Reason("daily", "2011-12-31", 1, 2)],
        1: [Reason("daily", "2011-12-29", 2, 2)],
    }


def test_week_53_belongs_to_the_year_of_its_thursday() -> None:
    backups = series("2026-12-27T12:00:00+00:00", "2026-12-28T12:00:00+00:00", "2027-01-03T12:00:00+00:00")
    later = at("2027-01-04T00:00:00+00:00")
    assert stays(backups, later, weekly=2) == {
        3: [Reason("weekly", "2026-W53", 1, 2)],
        1: [Reason("weekly", "2026-W52", 2, 2)],
    }
    assert sorted(stays(backups, later, yearly=2)) == [2, 3]
