"""Plans a deletion: which backups, by name or by keep rules, and why. Writes nothing.

Owns the refusals: no rule at all, a rule that fits nothing, a hold, the last good backup of a source.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from repositories.engine.display import show_count, show_text, show_time
from repositories.engine.errors import (
    BackupHeldError,
    BackupNotFoundError,
    ConfigurationError,
    IntegrityError,
    LastBackupError,
)
from repositories.engine.forgetting.facts import gather
from repositories.engine.forgetting.wording import require_text
from repositories.engine.manifest.backups import Backup, find_backup, list_backups
from repositories.engine.manifest.withheld import withheld
from repositories.engine.repository import Repository
from repositories.engine.retention.deleted import Notes
from repositories.engine.retention.policy import (
    Facts,
    KeepRules,
    Reason,
    Verdict,
    in_order,
    is_future,
    judge,
    judge_named,
    unruled_sources,
)
from repositories.engine.retention.zones import load_zone

_MANIFESTS = "manifests/"
_MANIFEST_ID = re.compile("[0-9a-f]{32}")
_LAST = "--allow-last deletes it all the same"


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What to delete: `ids` as people type them, or all that `rules` do not keep, of one source or with one tag.

    `reason` is kept with the deletion.
    """

    ids: tuple[str, ...] = ()
    rules: KeepRules = field(default_factory=KeepRules)
    source: str | None = None
    tag: str | None = None
    allow_last: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """One backup and what the plan says of it."""

    backup: Backup
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What a request comes to: every backup that it is about, by source and newest first.

    `lost`: manifests (hex) that were named and that nobody can read, or that are not there any more; they go too.
    """

    request: ForgetRequest
    judged: tuple[Judged, ...]
    warnings: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def going(self) -> tuple[Backup, ...]:
        """The backups that would be deleted."""
        return tuple(each.backup for each in self.judged if not each.verdict.keep)


def plan(repository: Repository, request: ForgetRequest) -> ForgetPlan:
    """Return the plan of a request.

    Raises ConfigurationError when nothing or too much is asked for, BackupNotFoundError, BackupHeldError and
    LastBackupError for what must not be deleted, IntegrityError while an annotation cannot be read.
    """
    _require_sense(request)
    now_ns = repository.clock.now_ns()
    backups = list_backups(repository)
    damaged = [name.rpartition("/")[2] for name in repository.damaged_manifests()]
    lost = tuple(each for each in damaged if any(_means(word, each) for word in request.ids))
    lost += _withheld(repository, request)
    facts = gather(repository, backups, readable_notes(repository), now_ns)
    if request.ids:
        verdicts = _named(repository, request, tuple(facts.values()), now_ns, lost)
        warnings: list[str] = []
    else:
        verdicts, warnings = _ruled(request, tuple(facts.values()), now_ns)
    warnings += [f"manifests/{each} cannot be read: its backup is lost" for each in damaged if each not in lost]
    by_id = {backup.manifest_id: backup for backup in backups}
    judged = tuple(Judged(by_id[each.facts.manifest_id], each) for each in verdicts)
    return ForgetPlan(request, judged, tuple(warnings), lost)


def _withheld(repository: Repository, request: ForgetRequest) -> tuple[str, ...]:
    """Return the manifests (hex) named here that something else names, too, and that are neither there nor deleted."""
    words = {word.removeprefix(_MANIFESTS) for word in request.ids}
    if not any(map(_MANIFEST_ID.fullmatch, words)):
        return ()
    # What a deleted backup names stops a prune, too.
    every = list_backups(repository, deleted=True)
    return tuple(sorted(words & {each.hex() for each in withheld(repository, every)}))


def _means(word: str, manifest_id: str) -> bool:
    return word.removeprefix(_MANIFESTS) == manifest_id


def readable_notes(repository: Repository) -> Notes:
    """Return what is said about backups. Raises IntegrityError while a part of it, perhaps a hold, cannot be read."""
    notes = repository.notes()
    if notes.damaged:
        raise IntegrityError(
            f"{notes.damaged[0]} cannot be read: it may hold a backup that must stay",
            hint="nothing is deleted until it is brought back from a copy, or set aside by repair",
        )
    return notes


def _require_sense(request: ForgetRequest) -> None:
    require_text(request.reason, "the reason")
    if request.rules.negative:
        raise ConfigurationError("a keep rule has a negative number", hint="give how many to keep")
    load_zone(request.rules.zone)
    if request.ids and not request.rules.empty:
        raise ConfigurationError("ids and keep rules were given", hint="give either; named backups need no rule")
    if request.ids and request.tag is not None:
        raise ConfigurationError("ids and a tag were given", hint="--tag narrows what keep rules look at")
    if not request.ids and request.rules.empty:
        raise ConfigurationError(
            "no backup and no keep rule is given: everything would be deleted",
            hint="name backups, or give at least one rule such as --keep-daily 7",
        )


def _named(
    repository: Repository, request: ForgetRequest, facts: Sequence[Facts], now_ns: int, lost: Sequence[str]
) -> tuple[Verdict, ...]:
    named_so = (word.removeprefix(_MANIFESTS) for word in request.ids)
    readable = [word for word in named_so if word not in lost]
    named = frozenset(find_backup(repository, each, request.source).manifest_id for each in readable)
    backup_ids = {each.manifest_id: each.short_id for each in list_backups(repository)}
    verdicts = judge_named(facts, named, now_ns, allow_last=request.allow_last)
    for verdict in verdicts:
        if verdict.keep:
            raise _refusal(backup_ids[verdict.facts.manifest_id], verdict)
    return verdicts


def _refusal(name: str, verdict: Verdict) -> BackupHeldError | LastBackupError:
    held = [reason for reason in verdict.reasons if reason.rule == "hold"]
    if held:
        return BackupHeldError(
            f"backup {name} is held{_until(held[0])}: {show_text(held[0].bucket) or 'no reason is given'}",
            hint="hold --release ends the hold",
        )
    source = show_text(verdict.facts.source)
    if verdict.reasons[0].rule == "only":
        return LastBackupError(f"backup {name} is all that is left of source {source}", hint=_LAST)
    return LastBackupError(f"backup {name} is the last good backup of source {source}", hint=_LAST)


def _until(reason: Reason) -> str:
    return "" if reason.until_ns is None else f" until {show_time(reason.until_ns)}"


def _ruled(request: ForgetRequest, facts: Sequence[Facts], now_ns: int) -> tuple[tuple[Verdict, ...], list[str]]:
    def selected(each: Facts) -> bool:
        return request.source in (None, each.source) and (request.tag is None or request.tag in each.tags)

    if facts and not any(map(selected, facts)):
        of = "" if request.source is None else f" of source {show_text(request.source)}"
        tagged = "" if request.tag is None else f" with tag {show_text(request.tag)}"
        raise BackupNotFoundError(f"there is no backup{of}{tagged}", hint="list shows sources and tags")
    verdicts = judge(facts, request.rules, now_ns, selected=selected, allow_last=request.allow_last)
    warnings = [
        f"no backup has the tag {show_text(tag)}, which --keep-tag names: check its spelling"
        for tag in sorted(request.rules.tags)
        if not any(tag in each.tags for each in facts)
    ]
    if unruled := unruled_sources(verdicts):
        more = f" and {show_count(len(unruled) - 1, 'other source')}" if len(unruled) > 1 else ""
        raise LastBackupError(
            f"no rule keeps any backup of source {show_text(unruled[0])}{more}: nothing is deleted",
            hint="; ".join([*warnings, "add a rule such as --keep-last 1, narrow it with --source, or name backups"]),
        )
    future = [each for each in in_order(facts) if is_future(each, now_ns) and selected(each)]
    if future:
        warnings.append(
            f"{show_count(len(future), 'backup')} dated in the future (the first: {show_time(future[0].received_ns)}) "
            "are ignored by all rules, and stay: is a clock wrong?"
        )
    told = tuple(each for each in verdicts if selected(each.facts))
    return told, warnings
