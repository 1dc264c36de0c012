"""A dry run foretells a restore and changes nothing, whatever the target is."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from repositories.engine.errors import ConfigurationError, RestoreTargetError
from repositories.engine.repository import Repository
from repositories.engine.restore import Deletion, Overwrite, RestorePlan
from repositories.engine.storage.locations import directories_of
from tests.engine.repositories import back_up_tree, local_repository, plan_latest, restore_latest
from tests.engine.trees import Description, change, describe
from tests.engine.users import as_ordinary_user


def test_a_missing_target(tmp_path: Path, repository: Repository, everything: Description) -> None:
    planned = plan_latest(repository, tmp_path / "no" / "out")
    assert not (tmp_path / "no").exists()
    result = restore_latest(repository, tmp_path / "no" / "out")
    made = result.files + result.directories + result.links + result.others
    assert planned.created == made == len(everything) - 1
    assert (planned.replaced, planned.existing, planned.kept, planned.unknown) == (0, 0, 0, 0)
    assert planned.created_bytes >= result.bytes_written
    assert len(planned.created_paths) == min(made, 100)


@pytest.mark.parametrize("overwrite", Overwrite)
def test_it_foretells_what_the_restore_does(
    overwrite: Overwrite, tmp_path: Path, repository: Repository, everything: Description
) -> None:
    """Over a target with everything in it, of which some was changed, taken away or replaced."""
    out = tmp_path / "out"
    restore_latest(repository, out)
    change(out / "small", b"newer", 2 * 10**18)
    change(out / "large", b"older", 10**17)
    change(out / "hard a", b"both names", 10**17)
    (out / "one zero").unlink()
    shutil.rmtree(out / "links")
    shutil.rmtree(out / "times")
    (out / "times").write_bytes(b"no directory")
    os.utime(out / "times", ns=(0, 0))
    before = describe(out)
    planned = plan_latest(repository, out, overwrite=overwrite)
    assert describe(out) == before
    result = restore_latest(repository, out, overwrite=overwrite)
    made = result.files + result.directories + result.links + result.others
    assert (planned.created + planned.replaced, planned.existing, planned.kept) == (made, result.existing, result.kept)
    assert sorted(planned.kept_paths) == sorted(result.kept_paths)
    assert planned.unknown == planned.damaged == 0
    if overwrite is Overwrite.IF_NEWER:
        assert {b"large", b"times", b"hard a"} <= set(planned.replaced_paths)
        assert b"small" in planned.kept_paths


def test_a_part(tmp_path: Path, repository: Repository, everything: Description) -> None:
    planned = plan_latest(repository, tmp_path / "out", paths=(b"links/1", b"names"))
    inside = sum(path.startswith(b"names/") for path in everything)
    assert planned.created == inside + 3
    with pytest.raises(ConfigurationError, match="not in the backup"):
        plan_latest(repository, tmp_path / "out", paths=(b"nothing",))


def test_what_cannot_be_looked_at_is_told(tmp_path: Path, repository: Repository, everything: Description) -> None:
    out = tmp_path / "out"
    restore_latest(repository, out, paths=(b"small", b"names"))
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)

    def run() -> tuple[RestorePlan, RestorePlan]:
        (out / "names").chmod(0)
        part = plan_latest(repository, out, paths=(b"names",))
        (out / "names").chmod(0o755)
        out.chmod(0)
        return part, plan_latest(repository, out, overwrite=Overwrite.ALWAYS, deletion=Deletion())

    part, nothing = as_ordinary_user(run, out)
    names = sum(path.startswith(b"names/") for path in everything)
    assert (part.kept, part.unknown, part.created) == (1, names, 0)
    assert (nothing.unknown, nothing.created, nothing.exit_code) == (len(everything) - 1, 0, 0)
    assert nothing.deletion is not None
    assert nothing.deletion.deleted == 0


def test_targets_that_a_restore_refuses_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "x").write_bytes(b"x")
    repository = local_repository(tmp_path / "repo")
    back_up_tree(repository, tmp_path / "tree")
    with pytest.raises(RestoreTargetError, match="repository"):
        plan_latest(repository, tmp_path / "repo" / "x", keep_out=directories_of(repository.storage))
    with pytest.raises(RestoreTargetError, match="cannot be used"):
        plan_latest(repository, tmp_path / "tree" / "x")
