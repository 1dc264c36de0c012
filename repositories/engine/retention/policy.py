"""The policy of keep rules: from facts about backups to a verdict with reasons for each.

Owns the rules. Pure: values in, values out, no clock, no repository. Each source stands for itself. What counts is the
time at which the repository received a backup, never one that the backup claims of itself (engine.md, section 7).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from repositories.engine.retention.buckets import BUCKETS, local_time
from repositories.engine.retention.zones import load_zone

SECOND_NS: Final = 1_000_000_000
FUTURE_TOLERANCE_NS: Final = 300 * SECOND_NS
"""How far clocks may differ before a backup counts as one of the future."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a backup must stay, and until when (ns; None: until it is released)."""

    reason: str
    until_ns: int | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What rules know of a backup. `good`: nothing was skipped, and no check found it hurt."""

    manifest_id: str
    source: str
    received_ns: int
    sequence: int
    good: bool
    tags: frozenset[str] = frozenset()
    holds: tuple[Hold, ...] = ()


@dataclass(frozen=True, slots=True)
class KeepRules:
    """What to keep of each source; a count of 0 is no rule. `within_ns` counts back from the newest backup."""

    last: int = 0
    hourly: int = 0
    daily: int = 0
    weekly: int = 0
    monthly: int = 0
    yearly: int = 0
    within_ns: int = 0
    tags: frozenset[str] = frozenset()
    zone: str = "UTC"

    @property
    def empty(self) -> bool:
        """Whether nothing would be kept by any rule."""
        return not (self.last or self.within_ns or self.tags or any(getattr(self, each) for each in BUCKETS))

    @property
    def negative(self) -> bool:
        """Whether a number makes no sense."""
        counts: list[int] = [self.last, self.within_ns, *(getattr(self, each) for each in BUCKETS)]
        return min(counts) < 0


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a backup stays, or that nothing keeps it.

    `rule` is `last`, `hourly` … `yearly`, `within`, `tag`, `hold`, `last-good`, `only`, `future`, `unselected`, `asked`
    or `none`; `bucket` the period, tag or hold's reason; `number` of `of` its place where the rule counts. `oldest`:
    the bucket is not yet the rule's own, but the oldest backup stays until the rule is full.
    """

    rule: str
    bucket: str = ""
    number: int = 0
    of: int = 0
    until_ns: int | None = None
    oldest: bool = False


RULES: Final = frozenset({"last", "within", "tag", *BUCKETS})
NOTHING: Final = Reason("none")
ASKED: Final = Reason("asked")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one backup stays, and why."""

    facts: Facts
    keep: bool
    reasons: tuple[Reason, ...]


@dataclass(slots=True)
class _Standing:
    facts: Facts
    reasons: list[Reason] = field(default_factory=list)


def in_order(backups: Iterable[Facts]) -> list[Facts]:
    """Return backups oldest first; within one second, which clocks may not tell apart, by sequence and then by id."""
    return sorted(backups, key=lambda each: (each.received_ns // SECOND_NS, each.sequence, each.manifest_id))


def is_future(facts: Facts, now_ns: int) -> bool:
    """Return whether a backup was received later than now: its clock or ours is wrong, and rules leave it alone."""
    return facts.received_ns > now_ns + FUTURE_TOLERANCE_NS


def judge(
    backups: Iterable[Facts],
    rules: KeepRules,
    now_ns: int,
    *,
    selected: Callable[[Facts], bool] = lambda _: True,
    allow_last: bool = False,
) -> tuple[Verdict, ...]:
    """Return a verdict for each backup, by source and newest first.

    Only `selected` ones take part in rules and may go. Unless `allow_last`, the newest good backup of a source stays
    whatever the rules say, or the newest of all where none is good. Raises ConfigurationError for an unknown zone.
    """
    verdicts: list[Verdict] = []
    by_source = sorted(backups, key=lambda each: each.source)
    for _, group in groupby(by_source, key=lambda each: each.source):
        standing = [_Standing(each) for each in reversed(in_order(group))]
        _exempt(standing, now_ns, selected)
        ruled = [each for each in standing if not each.reasons]
        _apply(ruled, rules)
        _hold(standing, now_ns)
        if not allow_last:
            _protect(standing, now_ns)
        verdicts += [_verdict(each) for each in standing]
    return tuple(verdicts)


def _exempt(standing: Sequence[_Standing], now_ns: int, selected: Callable[[Facts], bool]) -> None:
    for each in standing:
        if is_future(each.facts, now_ns):
            each.reasons.append(Reason("future"))
        elif not selected(each.facts):
            each.reasons.append(Reason("unselected"))


def _apply(newest_first: Sequence[_Standing], rules: KeepRules) -> None:
    for number, each in enumerate(newest_first[: rules.last], start=1):
        each.reasons.append(Reason("last", number=number, of=rules.last))
    if any(getattr(rules, name) for name in BUCKETS):
        _fill_buckets(newest_first, rules)
    for each in newest_first:
        if rules.within_ns and newest_first[0].facts.received_ns - each.facts.received_ns <= rules.within_ns:
            each.reasons.append(Reason("within"))
        each.reasons += [Reason("tag", tag) for tag in sorted(each.facts.tags & rules.tags)]


def _fill_buckets(newest_first: Sequence[_Standing], rules: KeepRules) -> None:
    zone = load_zone(rules.zone)
    moments = [local_time(each.facts.received_ns, zone) for each in newest_first]
    for name, bucket_of in BUCKETS.items():
        wanted: int = getattr(rules, name)
        filled: set[str] = set()
        for each, moment in zip(newest_first, moments, strict=True):
            bucket = bucket_of(moment)
            if len(filled) < wanted and bucket not in filled:
                filled.add(bucket)
                each.reasons.append(Reason(name, bucket, len(filled), wanted))
            elif each is newest_first[-1] and len(filled) < wanted:
                # It is the start of the history that the rule shall reach back over one day.
                each.reasons.append(Reason(name, bucket, len(filled), wanted, oldest=True))


def _hold(standing: Sequence[_Standing], now_ns: int) -> None:
    for each in standing:
        each.reasons += [
            Reason("hold", hold.reason, until_ns=hold.until_ns)
            for hold in each.facts.holds
            if hold.until_ns is None or hold.until_ns > now_ns
        ]


def _protect(newest_first: Sequence[_Standing], now_ns: int) -> None:
    """Keep the newest good backup, or the newest. One of the future is no proof that anything is left."""
    present = [each for each in newest_first if not is_future(each.facts, now_ns)]
    good = next((each for each in present if each.facts.good), None)
    saved = good or (present[0] if present else None)
    if saved is not None and not saved.reasons:
        saved.reasons.append(Reason("last-good" if saved.facts.good else "only"))


def unruled_sources(verdicts: Iterable[Verdict]) -> list[str]:
    """Return the sources that would lose a backup though no rule keeps any: a mistyped tag looks like this."""
    losing = {each.facts.source for each in verdicts if not each.keep}
    ruled = {each.facts.source for each in verdicts if any(reason.rule in RULES for reason in each.reasons)}
    return sorted(losing - ruled)


def judge_named(
    backups: Sequence[Facts], named: frozenset[str], now_ns: int, *, allow_last: bool = False
) -> tuple[Verdict, ...]:
    """Return a verdict for each backup that a person named by id (`named`: manifests), by source and newest first.

    Those under a hold stay; and unless `allow_last` the newest good one of a source that would have no good one left,
    or the newest of a source that would have none left. Backups of the future are no proof that anything is left.
    """
    verdicts: list[Verdict] = []
    by_source = sorted(backups, key=lambda each: each.source)
    for _, group in groupby(by_source, key=lambda each: each.source):
        newest_first = list(reversed(in_order(group)))
        asked = [_Standing(each) for each in newest_first if each.manifest_id in named]
        left = [each for each in newest_first if each.manifest_id not in named and not is_future(each, now_ns)]
        _hold(asked, now_ns)
        if not allow_last:
            _spare(asked, left)
        verdicts += [Verdict(each.facts, bool(each.reasons), tuple(each.reasons) or (ASKED,)) for each in asked]
    return tuple(verdicts)


def _spare(asked: Sequence[_Standing], left: Sequence[Facts]) -> None:
    good = next((each for each in asked if each.facts.good), None)
    if good is not None and not any(each.good for each in left):
        good.reasons.append(Reason("last-good"))
    elif asked and not left:
        asked[0].reasons.append(Reason("only"))


def _verdict(each: _Standing) -> Verdict:
    return Verdict(each.facts, bool(each.reasons), tuple(each.reasons) or (NOTHING,))
