"""Carries a plan out: one tombstone for all that goes, then a second look.

Owns the settling with whoever deleted or held at the same time. Each puts its record first and reads afterwards, so
that of two at least one sees the other: a hold wins, and two deletions never take the last good backup of a source
together. What must stay is brought back by an object of its own; the answer tells what is really deleted.
"""

from dataclasses import dataclass

from repositories.engine.forgetting.facts import gather
from repositories.engine.forgetting.planning import ForgetPlan, ForgetRequest, readable_notes
from repositories.engine.forgetting.returning import take_back
from repositories.engine.forgetting.room import deleting
from repositories.engine.manifest.backups import Backup, list_backups
from repositories.engine.prune.reserve import ReserveLeft
from repositories.engine.repository import Repository
from repositories.engine.retention.policy import Reason, Verdict, judge_named


@dataclass(frozen=True, slots=True)
class Spared:
    """A backup that the plan wanted to delete and that stays: `reasons` came up since."""

    backup: Backup
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """What was really deleted, what was spared, and how many others had deleted already.

    `tombstone_id` (hex) names the deletion; None: nothing was put. `lost`: unreadable manifests (hex) that go.
    `uncertain`: a prune is under way that may have decided about the spared ones before, or a writer of one is.
    `reserve_used`: the medium was full. `reserve_left`: what there is of the reserve then.
    """

    tombstone_id: str | None
    deleted: tuple[Backup, ...]
    spared: tuple[Spared, ...] = ()
    already: int = 0
    lost: tuple[str, ...] = ()
    uncertain: bool = False
    reserve_used: bool = False
    reserve_left: ReserveLeft | None = None


def forget(repository: Repository, plan: ForgetPlan) -> ForgetResult:
    """Delete what the plan says, unless something came up since it was made.

    Nothing is freed and everything can be undone until the next prune. A full medium gives its reserve. One object is
    put: a crash at any instant leaves all deleted or nothing. Raises CommitRefusedError when keys were rotated
    meanwhile, IntegrityError while an annotation cannot be read, the storage's errors.
    """
    repository.require_writable()
    wanted = {backup.manifest_id for backup in plan.going}
    # A person may have thought about the plan for hours.
    present = [backup for backup in list_backups(repository) if backup.manifest_id in wanted]
    readable_notes(repository)
    spared = _must_stay(repository, plan.request, present)
    going = [backup for backup in present if backup.manifest_id not in spared]
    already = len(wanted) - len(present)
    if not going and not plan.lost:
        return ForgetResult(None, (), _spared(present, spared), already)
    manifests = [*(backup.manifest_id for backup in going), *plan.lost]
    with deleting(repository) as room:
        tombstone = room.writer.delete(map(bytes.fromhex, manifests), plan.request.reason)
        late = _must_stay(repository, plan.request, going)
        uncertain = bool(late) and take_back(repository, late, "held, or the last of its source", room.writer).uncertain
    return ForgetResult(
        tombstone_id=tombstone.hex(),
        deleted=tuple(backup for backup in going if backup.manifest_id not in late),
        spared=_spared(present, {**spared, **late}),
        already=already,
        lost=plan.lost,
        uncertain=uncertain,
        reserve_used=room.spent,
        reserve_left=room.left,
    )


def _must_stay(repository: Repository, request: ForgetRequest, going: list[Backup]) -> dict[str, Verdict]:
    """Return verdicts on those of `going` that must stay, by what the repository holds now."""
    now_ns = repository.clock.now_ns()
    named = frozenset(backup.manifest_id for backup in going)
    # Listed before the notes: a hold upon one of them is then seen.
    others = [backup for backup in list_backups(repository) if backup.manifest_id not in named]
    notes = repository.notes()
    facts = gather(repository, [*others, *going], notes, now_ns)
    verdicts = judge_named(tuple(facts.values()), named, now_ns, allow_last=request.allow_last)
    return {each.facts.manifest_id: each for each in verdicts if each.keep}


def _spared(backups: list[Backup], verdicts: dict[str, Verdict]) -> tuple[Spared, ...]:
    return tuple(Spared(each, verdicts[each.manifest_id].reasons) for each in backups if each.manifest_id in verdicts)
