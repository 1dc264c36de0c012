"""One pack that cannot be read costs what lies in it; a medium that is gone ends a restore at once (engine.md 4)."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import RepositoryError
from repositories.engine.repair import RepairRequest, repair
from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.contents import SMALL_PACKS
from tests.engine.repositories import PASSWORD, back_up_tree, local_repository, restore_latest
from tests.engine.trees import pattern

COUNT = 6


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """Return one of several packs of data of a repository in `tmp_path`."""
    repository = local_repository(tmp_path / "repo")
    (tmp_path / "tree").mkdir()
    for number in range(COUNT):
        (tmp_path / "tree" / f"file{number}").write_bytes(pattern(700_000, number))
    with repository.begin_write(SMALL_PACKS) as session:
        back_up_tree(repository, tmp_path / "tree", session=session)
    return max((tmp_path / "repo" / "packs").glob("*/*"), key=lambda path: path.stat().st_size)


def symbolic_link(pack: Path) -> None:
    pack.rename(pack.with_name("elsewhere"))
    pack.symlink_to("elsewhere")


def directory(pack: Path) -> None:
    pack.unlink()
    pack.mkdir()


def special_file(pack: Path) -> None:
    pack.unlink()
    os.mkfifo(pack)


class Refusing(LocalStorage):
    """Reads of `refused` names fail with an errno; of all objects if there are none."""

    def __init__(self, path: Path, number: int, refused: str) -> None:
        super().__init__(str(path))
        self.number, self.refused = number, refused

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        with self._errors(name):
            if self.refused in name:
                raise OSError(self.number, os.strerror(self.number))
        return super().get(name, offset, length)


def require_rest(storage: LocalStorage, tmp_path: Path) -> None:
    result = restore_latest(open_repository(storage, PASSWORD), tmp_path / "out")
    assert result.exit_code == 13
    assert 1 <= result.damaged == len(result.damaged_paths) < COUNT
    assert result.files + result.damaged == COUNT
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (tmp_path / "tree" / path.name).read_bytes()


@pytest.mark.parametrize("harm", [symbolic_link, directory, special_file], ids=lambda harm: str(harm.__name__))
def test_what_lies_in_the_place_of_a_pack_is_named_by_all_in_the_same_words(
    tmp_path: Path, pack: Path, harm: Callable[[Path], None]
) -> None:
    harm(pack)
    storage = LocalStorage(str(tmp_path / "repo"))
    require_rest(storage, tmp_path)
    told = f"it is missing: a {harm.__name__.replace('_', ' ')} lies in its place; put the file back"
    name = str(pack.relative_to(tmp_path / "repo"))
    for read_data in (True, False):
        report = check(open_repository(storage, PASSWORD), CheckRequest(read_data, remember=False), Hooks())
        assert (report.exit_code, report.proof.good_packs >= 1) == (13, read_data)
        assert [each.message for each in report.problems if each.object == name] == [told]
    mended = repair(open_repository(storage, PASSWORD), RepairRequest(secret=PASSWORD, read_data=True), Hooks())
    assert mended.exit_code == 13
    assert told in {each.message.split(", not read again: ")[-1] for each in mended.after.problems}
    assert pack.is_symlink() or not pack.is_file()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EPERM])
def test_one_pack_that_cannot_be_read_costs_its_own_files_alone(tmp_path: Path, pack: Path, number: int) -> None:
    require_rest(Refusing(tmp_path / "repo", number, pack.name), tmp_path)


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE, errno.ENODEV])
def test_a_medium_that_is_gone_ends_a_restore(tmp_path: Path, pack: Path, number: int) -> None:
    assert pack.is_file()
    storage = Refusing(tmp_path / "repo", number, "nothing")
    repository = open_repository(storage, PASSWORD)
    storage.refused = "packs/" if number in (errno.ESTALE, errno.ENODEV) else ""
    with pytest.raises(RepositoryError) as raised:
        restore_latest(repository, tmp_path / "out")
    assert os.strerror(number) in raised.value.message
