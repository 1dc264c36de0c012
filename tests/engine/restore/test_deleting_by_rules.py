"""`--delete` spares what a backup's rules left out, read as the backup read them."""

from pathlib import Path

import pytest

from repositories.engine.restore import Deletion, Overwrite
from repositories.engine.restore import guard as reasons
from tests.engine.repositories import back_up_tree, make_repository, restore_latest


@pytest.mark.parametrize("ignoring_case", [True, False])
def test_rules_that_ignore_case_spare_both_cases(tmp_path: Path, *, ignoring_case: bool) -> None:
    """Deleted by a restore in place, what such a rule had left out would be lost: no backup holds it."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "kept").write_bytes(b"kept")
    (tree / "a.tmp").write_bytes(b"a")
    repository = make_repository()
    back_up_tree(repository, tree, excludes=("*.TMP",), exclude_ignoring_case=ignoring_case)
    (tree / "later.Tmp").write_bytes(b"later")
    result = restore_latest(repository, tree, overwrite=Overwrite.IF_CHANGED, deletion=Deletion())
    assert result.deletion is not None
    spared = {b"a.tmp": reasons.EXCLUDED, b"later.Tmp": reasons.EXCLUDED} if ignoring_case else {}
    assert dict(result.deletion.spared_paths) == spared
    assert (tree / "a.tmp").exists()
    assert (tree / "later.Tmp").exists() is ignoring_case
