"""A small tree, and something that happens to it while it is backed up."""

from collections.abc import Callable
from pathlib import Path

from repositories.engine.backup import BackupResult
from repositories.engine.repository import Repository
from tests.engine.repositories import back_up_tree
from tests.engine.trees import pattern


class AtFirstRead:
    """A bandwidth bucket that does something to the source once, when the first file has been read."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act: Callable[[], object] | None = act

    def take(self, count: int) -> None:
        act, self._act = self._act, None
        if act is not None:
            act()


def make_tree(root: Path) -> Path:
    (root / "sub").mkdir(parents=True)
    for name in ("a", "b", "sub/c", "z"):
        (root / name).write_bytes(pattern(2000, len(name)))
    return root


def disturbed(repository: Repository, tree: Path, act: Callable[[Path], object], **changes: object) -> BackupResult:
    return back_up_tree(repository, tree, session=None, **changes, read_bucket=AtFirstRead(lambda: act(tree)))
