"""Keep rules against an independent account of them, over many zones, and by golden examples (3.3; traps 53 to 56)."""

import importlib.resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories.engine.errors import ConfigurationError
from repositories.engine.retention.buckets import BUCKETS
from repositories.engine.retention.policy import (
    FUTURE_TOLERANCE_NS,
    Facts,
    Hold,
    KeepRules,
    Reason,
    judge,
    judge_named,
    unruled_sources,
)
from repositories.engine.retention.zones import load_zone
from tests.engine.retention.histories import DAY, HOUR, NOW, SECOND, at, facts, series, stays
from tests.engine.retention.slow_policy import kept

ZONES = sorted(importlib.resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())
# Zones whose clocks do what others do not: half hours of summer time, a day left out, offsets of 45 minutes.
ODD = [
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "America/St_Johns",
    "Africa/Casablanca",
    "Europe/Dublin",
]


# Mostly none: one rule hides what another does.
counts = st.sampled_from([0, 0, 0, 0, 1, 2, 4])
zones = st.sampled_from(ODD) | st.sampled_from(ZONES)
one_rule = st.builds(
    lambda rule, count, zone: KeepRules(**{rule: count}, zone=zone),
    st.sampled_from([*BUCKETS]),
    st.integers(1, 4),
    zones,
)
rules = one_rule | st.builds(
    KeepRules,
    last=counts,
    hourly=counts,
    daily=counts,
    weekly=counts,
    monthly=counts,
    yearly=counts,
    within_ns=st.sampled_from([0, HOUR, DAY, 40 * DAY]),
    tags=st.sets(st.sampled_from("ab")).map(frozenset),
    zone=zones,
)
holds = st.lists(st.builds(Hold, st.just("why"), st.none() | st.integers(NOW - 1, NOW + 1)), max_size=1).map(tuple)
# Dense around one moment, so that buckets hold several; that moment anywhere in a century, often at a change of clocks.
centres = st.integers(-(10**9), NOW // SECOND) | st.sampled_from(
    [
        at("2026-10-25T01:00:00+00:00") // SECOND,
        at("2026-04-04T15:00:00+00:00") // SECOND,
        at("2026-01-01T00:00:00+00:00") // SECOND,
    ]
)
spreads = st.sampled_from([5, 3600, 86400, 10 * 86400, 400 * 86400])


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Facts], int]:
    centre, spread = draw(centres), draw(spreads)
    now = (centre + draw(st.integers(0, spread))) * SECOND
    backups = [
        Facts(
            manifest_id=f"{number:032x}",
            source=draw(st.sampled_from(["one", "two"])),
            received_ns=(centre + draw(st.integers(-spread, spread))) * SECOND + draw(st.integers(0, SECOND - 1)),
            sequence=draw(st.integers(1, 6)),
            good=draw(st.booleans()),
            tags=draw(st.sets(st.sampled_from("abc"), max_size=2).map(frozenset)),
            holds=draw(holds),
        )
        for number in range(draw(st.integers(0, 14)))
    ]
    return backups, now


@settings(max_examples=150, deadline=None)
@given(histories(), rules)
def test_the_policy_agrees_with_a_slow_account_of_it(history: tuple[list[Facts], int], rules: KeepRules) -> None:
    backups, now = history
    verdicts = judge(backups, rules, now)
    assert {each.facts.manifest_id for each in verdicts if each.keep} == kept(
        backups, rules, now, load_zone(rules.zone)
    )
    assert sorted(each.facts.manifest_id for each in verdicts) == sorted(each.manifest_id for each in backups)
    assert all(each.reasons for each in verdicts)
    assert verdicts == judge(reversed(backups), rules, now), "the order of listing must not matter"
    for source in {each.source for each in backups}:
        mine = [each for each in verdicts if each.facts.source == source]
        assert any(each.keep for each in mine)
        good = [each for each in mine if each.facts.good and each.facts.received_ns <= now + FUTURE_TOLERANCE_NS]
        assert not good or any(each.keep for each in good)


@settings(max_examples=50, deadline=None)
@given(histories(), rules)
def test_a_plan_carried_out_plans_nothing_more_but_by_time(history: tuple[list[Facts], int], rules: KeepRules) -> None:
    """Running the same rules again at once deletes nothing: what a rule kept it keeps."""
    backups, now = history
    left = [each.facts for each in judge(backups, rules, now) if each.keep]
    again = judge(left, rules, now)
    assert all(each.keep for each in again)


@settings(max_examples=80, deadline=None)
@given(histories(), st.data())
def test_named_backups_never_leave_a_source_without_a_good_one(
    history: tuple[list[Facts], int], data: st.DataObject
) -> None:
    backups, now = history
    named = frozenset(data.draw(st.sets(st.sampled_from([each.manifest_id for each in backups] or ["none"]))))
    verdicts = judge_named(backups, named, now)
    gone = {each.facts.manifest_id for each in verdicts if not each.keep}
    assert gone <= named
    for source in {each.source for each in backups if each.manifest_id in gone}:
        mine = [each for each in backups if each.source == source]
        left = [each for each in mine if each.manifest_id not in gone]
        assert left
        assert any(each.good for each in left) or not any(each.good for each in mine)
    for each in backups:
        if any(hold.until_ns is None or hold.until_ns > now for hold in each.holds):
            assert each.manifest_id not in gone


def test_the_oldest_stays_while_a_rule_is_not_full() -> None:
    """56: daily backups of three days; seven are wanted."""
    backups = series(
        "2026-11-26T01:00:00+00:00",
        "2026-11-26T09:00:00+00:00",
        "2026-11-27T09:00:00+00:00",
        "2026-11-28T09:00:00+00:00",
    )
    assert stays(backups, daily=7) == {
        4: [Reason("daily", "2026-11-28", 1, 7)],
        3: [Reason("daily", "2026-11-27", 2, 7)],
        2: [Reason("daily", "2026-11-26", 3, 7)],
        1: [Reason("daily", "2026-11-26", 3, 7, oldest=True)],
    }
    assert sorted(stays(backups, daily=3)) == [2, 3, 4]


def test_within_one_second_the_sequence_decides_then_the_id() -> None:
    moment = at("2026-11-28T09:00:00+00:00")
    early_but_second = facts(2, moment + 1)
    late_but_first = facts(1, moment + SECOND - 1)
    assert sorted(stays([late_but_first, early_but_second], last=1)) == [2]
    twins = [Facts(f"{each:032x}", "home", moment, 1, good=True) for each in (2, 1)]
    assert [each.facts.manifest_id[-1] for each in judge(twins, KeepRules(last=1), NOW) if each.keep] == ["2"]


def test_backups_that_came_out_of_order_count_by_the_time_of_receipt() -> None:
    backups = [facts(1, NOW - DAY), facts(2, NOW - 3 * DAY), facts(3, NOW - 2 * DAY)]
    assert sorted(stays(backups, last=1)) == [1]
    assert sorted(stays(backups, last=2)) == [1, 3]


def test_within_counts_back_from_the_newest_backup_and_takes_its_end_in() -> None:
    """A source that is no longer backed up loses nothing by the passing of time, nor by a clock that runs ahead."""
    backups = [facts(1, NOW - DAY - 1), facts(2, NOW - DAY), facts(3, NOW)]
    assert sorted(stays(backups, NOW + 1000 * DAY, within_ns=DAY)) == [2, 3]


def test_one_of_the_future_fills_nothing_and_stays() -> None:
    """54. Clocks may differ by five minutes."""
    ahead, just = facts(3, NOW + FUTURE_TOLERANCE_NS + 1), facts(2, NOW + FUTURE_TOLERANCE_NS)
    backups = [facts(1, NOW - DAY), just, ahead]
    assert stays(backups, last=1) == {3: [Reason("future")], 2: [Reason("last", number=1, of=1)]}


def test_the_newest_good_one_stays_whatever_rules_say() -> None:
    backups = [facts(1, NOW - 3 * DAY), facts(2, NOW - 2 * DAY), facts(3, NOW - DAY, good=False)]
    assert stays(backups, last=1) == {3: [Reason("last", number=1, of=1)], 2: [Reason("last-good")]}
    allowed = judge(backups, KeepRules(last=1), NOW, allow_last=True)
    assert [each.facts.sequence for each in allowed if each.keep] == [3]
    bad = [facts(1, NOW - 2 * DAY, good=False), facts(2, NOW - DAY, good=False)]
    verdicts = judge(bad, KeepRules(tags=frozenset({"x"})), NOW)
    assert [each.reasons for each in verdicts] == [(Reason("only"),), (Reason("none"),)]
    assert unruled_sources(verdicts) == ["home"]


def test_holds_and_tags_keep() -> None:
    backups = [
        facts(1, NOW - 4 * DAY, holds=(Hold("audit", None),)),
        facts(2, NOW - 3 * DAY, holds=(Hold("over", NOW),)),
        facts(3, NOW - 2 * DAY, tags=frozenset({"keep", "other"})),
        facts(4, NOW - DAY),
    ]
    assert stays(backups, last=1, tags=frozenset({"keep"})) == {
        4: [Reason("last", number=1, of=1)],
        3: [Reason("tag", "keep")],
        1: [Reason("hold", "audit")],
    }


def test_times_that_no_calendar_of_people_reaches_are_ordered_too() -> None:
    backups = [facts(1, -(2**63)), facts(2, 0), facts(3, 2**63), facts(4, NOW)]
    assert sorted(stays(backups, yearly=2)) == [2, 3, 4]


def test_rules_without_a_number_are_no_rules() -> None:
    assert KeepRules().empty
    assert KeepRules(zone="Europe/Berlin").empty
    assert not any(rule.empty for rule in (KeepRules(last=1), KeepRules(hourly=1), KeepRules(daily=1)))
    assert not any(rule.empty for rule in (KeepRules(weekly=1), KeepRules(monthly=1), KeepRules(yearly=1)))
    assert not KeepRules(within_ns=1).empty
    assert not KeepRules(tags=frozenset({"x"})).empty


def test_an_unknown_zone_is_refused() -> None:
    for name in ("Mars/Olympus", "", "../etc/passwd", "europe/berlin"):
        with pytest.raises(ConfigurationError):
            judge([facts(1, NOW)], KeepRules(daily=1, zone=name), NOW)
