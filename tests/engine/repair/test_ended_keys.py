"""Keyrings and slots that a rotation has left behind: damage of theirs is none of the repository (3.5, 3.11)."""

import pytest

from repositories.engine.format.kinds import COPIES
from repositories.engine.keychain import rotate
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.keychain.chains import keychain
from tests.engine.prune.builders import run as prune
from tests.engine.repair.hurting import flip, mend, run_check
from tests.engine.repositories import PASSWORD


@pytest.fixture
def ended(storage: MemoryStorage) -> dict[str, str]:
    """Return the keyring and a slot of a generation that has ended, as by a rotation that died while it cleaned up."""
    before = dict(storage.objects)
    rotate(keychain(storage), [PASSWORD])
    of_keys = {name: data for name, data in before.items() if "/00000001/" in name}
    storage.objects.update(of_keys)
    assert run_check(storage).ok
    return {name.split("/")[0]: name for name in of_keys if not name.startswith(COPIES)}


@pytest.mark.parametrize("copies", [("",), (COPIES,), ("", COPIES)])
def test_a_damaged_keyring_of_ended_keys_is_no_damage(
    storage: MemoryStorage, ended: dict[str, str], copies: tuple[str, ...]
) -> None:
    """Nobody can tell its whole copy: its key has ended. The next prune removes both."""
    victim = ended["keyrings"]
    for number, copy in enumerate(copies):
        flip(storage, copy + victim, -1 - number)
    report = run_check(storage)
    assert (report.problems, report.left_over) == ([], 1)
    mended = mend(storage)
    assert (mended.exit_code, mended.step_count) == (0, 0)
    prune(storage)
    assert not {victim, COPIES + victim} & storage.objects.keys()
    assert run_check(storage).left_over == 0


def test_a_damaged_slot_of_ended_keys_is_mended_or_no_damage(storage: MemoryStorage, ended: dict[str, str]) -> None:
    """One copy tells by itself whether it is whole."""
    victim = ended["slots"]
    whole = storage.objects[victim]
    flip(storage, victim, 0)
    assert [problem.object for problem in run_check(storage).problems] == [victim]
    assert mend(storage).exit_code == 0
    assert storage.objects[victim] == whole
    for copy in ("", COPIES):
        flip(storage, copy + victim, 0)
    report = run_check(storage)
    assert (report.problems, report.left_over) == ([], 1)
    assert (mend(storage).exit_code, mend(storage).step_count) == (0, 0)


@pytest.mark.parametrize("copy", ["", COPIES])
def test_a_damaged_copy_of_the_keyring_in_use_is_told_and_mended(
    storage: MemoryStorage, ended: dict[str, str], copy: str
) -> None:
    (victim,) = [name for name in storage.objects if name.startswith("keyrings/00000002/")]
    whole = storage.objects[victim]
    flip(storage, copy + victim, -1)
    report = run_check(storage)
    assert report.exit_code == 13
    assert "keyrings/00000002/" in report.problems[0].object
    assert mend(storage).exit_code == 0
    assert storage.objects[copy + victim] == whole
    assert run_check(storage).ok
