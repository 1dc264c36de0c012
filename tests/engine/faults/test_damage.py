"""Every region of every kind of object is damaged: found by a check, never restored as content (3.11).

And what a repair makes of it is held against the truth (mended.py). The suite tries a part of them that changes with
the seed; EVERY_DAMAGE=1 tries all, and DAMAGE_SEED=N a part again.
"""

import os
import random
from pathlib import Path

import pytest

from repositories.engine.check import copies as check_copies
from repositories.engine.format.kinds import COPIES, ObjectKind
from repositories.engine.repair import copies, fences, notes
from tests.engine.faults.damages import Damage, damages, kind_of
from tests.engine.faults.mended import OF_OTHERS, make_ground, require_mended
from tests.engine.faults.scene import Verdict, build, look

TRIED, MENDED = 70, 10
HARMLESS = {
    ObjectKind.SESSION: "a lease that cannot be read makes a prune wait; without one the fence alone judges",
    ObjectKind.INTENT: "an intent that is not whole decides nothing; it is no part of any backup",
    ObjectKind.KEY_CHANGE: "an announcement without a whole intent makes nobody wait for more than minutes",
}
NOT_MISSED = {
    ObjectKind.SLOT: "another key opens it: that there was one more, who has seen it knows (rollback), nothing else",
    ObjectKind.ANNOTATION: "that there was a tag or hold is told by nothing else",
    ObjectKind.TOMBSTONE: "its backups are back, which loses nothing",
    ObjectKind.CHECKPOINT: "what was read is read again",
    ObjectKind.MARK: "the next prune marks anew; who has seen it has a fence as high",
    ObjectKind.SWEEP: "as if no prune had been: a void manifest is listed until the next one",
    ObjectKind.CONTROLLER: "the control plane knows its fence itself",
    ObjectKind.VERIFIED: "packs count as never read",
    ObjectKind.DAMAGE: "the next check that reads finds it again",
    ObjectKind.MANIFEST: "the newest backup is linked by no other; an older one is told as lost (test below)",
}
UNREADABLE = frozenset(
    {
        ObjectKind.CONFIG,
        ObjectKind.SLOT,
        ObjectKind.KEYRING,
        ObjectKind.INVENTORY,
        ObjectKind.SWEEP,
        ObjectKind.MANIFEST,
    }
)
"""With both copies damaged backups may be unreadable; everything else must stay readable."""

Scene = tuple[dict[str, bytes], Verdict]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (check_copies, copies, fences, notes):
        monkeypatch.setattr(module, "_SETTLE_SECONDS", 0.0)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    root = tmp_path_factory.mktemp("damage")
    objects = build(root)
    whole = look(objects, root / "restored")
    assert not whole.found
    assert len(whole.contents) == 2
    return objects, whole


def test_two_of_each_kind_are_there(scene: Scene) -> None:
    there = {kind_of(name) for name in scene[0]}
    assert there >= frozenset(ObjectKind) - {ObjectKind.KEY_CHANGE}


def test_damage_is_found_and_never_restored(scene: Scene, tmp_path: Path) -> None:
    objects, whole = scene
    every = list(damages(objects))
    assert len(every) > 700
    seed, chosen = _chosen(every, TRIED)
    for damage in chosen:
        verdict = look(damage.apply(dict(objects)), tmp_path / "restored")
        told = f"{damage.kind.name} {damage.copies} {damage.harm}: DAMAGE_SEED={seed}"
        _require_found(damage, verdict, whole, told)
        _require_true(damage, verdict, whole, told)


@pytest.mark.timeout(3600)
def test_a_repair_after_any_damage_makes_nothing_worse_and_the_next_backup_is_whole(
    scene: Scene, tmp_path: Path
) -> None:
    """3.2: what can be mended is, what is hurt is named, nothing is deleted in the same step."""
    ground = make_ground(scene[0], tmp_path / "truth")
    every = [each for each in damages(ground.objects) if each.kind not in OF_OTHERS]
    seed, chosen = _chosen(every, MENDED)
    for damage in chosen:
        told = f"{damage.kind.name} {damage.copies} {damage.harm} {damage.name}: DAMAGE_SEED={seed}"
        require_mended(ground, damage, tmp_path / "mended", told)


def _chosen(every: list[Damage], tried: int) -> tuple[int, list[Damage]]:
    seed = int(os.environ.get("DAMAGE_SEED", random.SystemRandom().randrange(10**6)))
    return seed, every if os.environ.get("EVERY_DAMAGE") else random.Random(seed).sample(every, tried)


def _require_found(damage: Damage, verdict: Verdict, whole: Verdict, told: str) -> None:
    unseen = damage.copies == "all" and damage.harm == "removed" and damage.kind in NOT_MISSED
    # One copy alone of a deleted manifest is what a prune leaves that dies between the two removals.
    deleted = damage.kind is ObjectKind.MANIFEST and damage.name.rpartition("/")[2] not in whole.listed
    unseen = unseen or (deleted and damage.harm == "removed")
    assert verdict.found or unseen or damage.kind in HARMLESS, f"not found: {told}"


def _require_true(damage: Damage, verdict: Verdict, whole: Verdict, told: str) -> None:
    """A single copy is overcome; of two, nothing wrong is restored, and what needs the object not stays whole."""
    for backup, contents in whole.contents.items():
        restored = verdict.contents.get(backup, {})
        assert restored.items() <= contents.items(), f"restored wrongly: {told}"
        if damage.copies != "all" or damage.kind not in UNREADABLE | {ObjectKind.PACK}:
            assert restored == contents, f"not restored: {told}"


def test_a_backup_that_others_name_is_missed(scene: Scene, tmp_path: Path) -> None:
    """engine.md 5: linked, and neither there nor deleted."""
    objects, whole = scene
    missed = []
    for backup in whole.listed:
        name = f"manifests/{backup}"
        verdict = look(
            {each: data for each, data in objects.items() if each.removeprefix(COPIES) != name}, tmp_path / "r"
        )
        assert verdict.listed == whole.listed - {backup}
        missed.append(verdict.found)
    assert sorted(missed) == [False, True]


def test_the_config_of_another_repository_does_not_hide_the_second_copy(scene: Scene, tmp_path: Path) -> None:
    objects, whole = scene
    other = tmp_path / "other"
    other.mkdir()
    foreign = next(data for name, data in build(other).items() if name.startswith("config/"))
    (name,) = (name for name in objects if name.startswith("config/"))
    for copy in (name, COPIES + name):
        verdict = look(objects | {copy: foreign}, tmp_path / "restored")
        assert (verdict.found, verdict.contents) == (True, whole.contents)
