"""A pack that this user may not read is no damage: nobody can say what it holds, and nobody sets it aside (3.2)."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.format.verification import DamageRecord
from repositories.engine.packs.directory import PackClass
from repositories.engine.process.next_steps import next_step
from repositories.engine.repair import RepairRequest, repair
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.repositories import PASSWORD, back_up_tree, local_repository
from tests.engine.users import as_ordinary_user, let_others_through

Outcome = tuple[int, list[tuple[str, bool]], int]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a repository with one backup; no pack of data may be read."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"content" * 1000)
    place = tmp_path / "repository"
    back_up_tree(local_repository(place), tmp_path / "tree")
    let_others_through(tmp_path)
    for pack in data_packs(place):
        pack.chmod(0)
    return place


def packs(place: Path) -> list[Path]:
    return sorted(path for path in (place / "packs").rglob("*") if path.is_file())


def data_packs(place: Path) -> list[Path]:
    found = opened(place).reader().index.packs().values()
    names = {pack.pack_id.hex() for pack in found if pack.pack_class == PackClass.DATA}
    return [path for path in packs(place) if path.name in names]


def opened(place: Path) -> Repository:
    repository = open_repository(LocalStorage(str(place)), PASSWORD)
    repository.warn = lambda _: None
    return repository


def mend(place: Path, *, dry_run: bool = False, read_data: bool = False) -> Outcome:
    report = repair(opened(place), RepairRequest(dry_run, read_data, secret=PASSWORD), Hooks())
    return report.exit_code, [(step.kind, step.done) for step in report.steps], len(report.aside)


def require_untouched(place: Path, before: list[Path]) -> None:
    """Whoever may read the packs finds all whole, and no damage is remembered."""
    assert packs(place) == before
    assert not any((place / "damage").glob("*"))
    for pack in data_packs(place):
        pack.chmod(0o400)
    report = check(opened(place), CheckRequest(read_data=True), Hooks())
    assert (report.ok, report.hurt) == (True, [])


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_repair_names_it_and_leaves_it_where_it_is(place: Path, dry_run: bool) -> None:
    before = packs(place)
    code, steps, aside = as_ordinary_user(lambda: mend(place, read_data=True, dry_run=dry_run), place)
    assert (code, aside) == (13, 0)
    assert steps == [("pack", False)]
    require_untouched(place, before)


def test_not_even_where_it_is_known_as_damaged(place: Path) -> None:
    """Somebody has found it so before; what can be read of it is still to be stored anew before it may go."""
    before = packs(place)
    store = opened(place).store
    damage = store.put(
        ObjectKind.DAMAGE,
        encode(DamageRecord(1, bytes.fromhex(data_packs(place)[0].name), b"", "a sector cannot be read")),
    )
    code, steps, aside = as_ordinary_user(lambda: mend(place), place)
    assert (code, steps, aside) == (13, [("pack", False)], 0)
    assert packs(place) == before
    assert (place / "damage" / damage.hex()).exists()


def test_a_check_says_so_and_remembers_nothing(place: Path) -> None:
    before = packs(place)

    def look() -> tuple[int, set[str], int, int, str]:
        report = check(opened(place), CheckRequest(read_data=True), Hooks())
        kinds = {problem.kind for problem in report.problems}
        return report.exit_code, kinds, len(report.hurt), report.proof.read_packs, next_step(report)

    code, kinds, hurt, read, step = as_ordinary_user(look, place)
    assert (code, kinds, hurt, read) == (13, {"pack"}, 0, len(before) - 1)
    assert "as a user who may read" in step
    require_untouched(place, before)
