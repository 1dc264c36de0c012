"""Clear objects that lie under another's name: told from the whole copy, and put back where they belong (3.11)."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.format.kinds import COPIES
from repositories.engine.keychain import add_password
from repositories.engine.process.next_steps import next_step
from repositories.engine.repair import RepairRequest, repair
from repositories.engine.repository import open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.keychain.chains import keychain
from tests.engine.repair.hurting import make_storage, mend, run_check
from tests.engine.repositories import PASSWORD

OTHER, THIRD = b"another password", b"a third password"


@pytest.fixture
def slots(small: MemoryStorage) -> tuple[str, str]:
    """Return the names of the slots of two passwords."""
    before = {name for name in small.objects if name.startswith("slots/")}
    add_password(keychain(small), OTHER, "")
    after = {name for name in small.objects if name.startswith("slots/")}
    (second,) = after - before
    opened = keychain(small)
    first = next(name for name in before if opened.opened.slot.facts.slot_id.hex() in name)
    return first, second


def require_opens(storage: MemoryStorage) -> None:
    for secret in (PASSWORD, OTHER):
        open_repository(storage, secret)


@pytest.mark.parametrize("place", ["", COPIES])
def test_a_slot_under_the_name_of_another_is_written_again_from_its_copy(
    small: MemoryStorage, slots: tuple[str, str], place: str
) -> None:
    whole = dict(small.objects)
    first, second = slots
    small.objects[place + second] = whole[first]
    report = mend(small)
    assert (report.exit_code, [step.object for step in report.steps]) == (0, [place + second])
    assert small.objects == whole
    require_opens(small)


def test_two_slots_that_were_exchanged_in_all_copies_are_put_back(small: MemoryStorage, slots: tuple[str, str]) -> None:
    """A slot says its own name: what lies under the other one is the only whole copy of it."""
    add_password(keychain(small), THIRD, "")
    whole = dict(small.objects)
    first, second = slots
    for place in ("", COPIES):
        small.objects[place + first], small.objects[place + second] = whole[second], whole[first]
    repository = open_repository(small, THIRD)
    told = next_step(check(repository, CheckRequest(), Hooks()))
    assert ("syncova-repo repair" in told, "key remove" in told) == (True, False)
    repository = open_repository(small, THIRD)
    assert repair(repository, RepairRequest(secret=THIRD), Hooks()).exit_code == 0
    assert small.objects == whole
    require_opens(small)
    assert run_check(small).ok


def test_a_slot_that_is_nowhere_whole_is_told(small: MemoryStorage, slots: tuple[str, str]) -> None:
    first, second = slots
    for place in ("", COPIES):
        small.objects[place + second] = small.objects[place + first]
    before = dict(small.objects)
    report = mend(small)
    assert (report.exit_code, [step.object for step in report.steps if not step.done]) == (13, [second])
    assert small.objects == before


def test_the_config_of_another_repository_is_replaced_by_the_second_copy(small: MemoryStorage, tmp_path: Path) -> None:
    whole = dict(small.objects)
    (tmp_path / "other").mkdir()
    foreign = make_storage(tmp_path / "other", 10).objects
    (name,) = (name for name in whole if name.startswith("config/"))
    small.objects[name] = next(data for each, data in foreign.items() if each.startswith("config/"))
    assert mend(small).exit_code == 0
    assert small.objects == whole
