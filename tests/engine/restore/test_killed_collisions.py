"""2.9 and 2.10 together: a restore onto a target that ignores case, killed anywhere, is just run again."""

from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite
from tests.engine.repositories import back_up_tree, restore_latest
from tests.engine.restore.test_collisions import assert_apart, flat
from tests.engine.restore.test_collisions import tree as tree
from tests.engine.restore.test_killed import killed
from tests.fuse.mounting import mounted


@pytest.mark.parametrize("overwrite", [Overwrite.NEVER, Overwrite.IF_CHANGED])
def test_killed_at_any_change_the_same_names_collide(
    overwrite: Overwrite, tree: Path, tmp_path: Path, repository: Repository
) -> None:
    back_up_tree(repository, tree)
    with mounted(tmp_path / "mounted", folds=True) as target:
        for after in range(0, 1000, 3):
            out = target.path / str(after)
            if not killed(repository, out, after, before=after % 2 == 0, order={"overwrite": overwrite}):
                break
            assert_apart(restore_latest(repository, out, overwrite=overwrite, verify=True), out)
        else:
            raise AssertionError("it never ended")
        assert after > 30
        assert b"DIR" in flat(out)
