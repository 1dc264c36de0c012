"""Backups, deletions, restores and prunes of one repository at once (3.13): every backup that counts is whole."""

import threading
from collections.abc import Callable
from pathlib import Path

from repositories.engine.storage.local import LocalStorage
from tests.engine.prune.builders import Tree, back_up, checked, files, forget, reopened, require_backup, run
from tests.engine.repositories import make_repository

TURNS = 4


class Crowd:
    """Everybody who works on one repository, each with a repository opened by himself."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.storage = LocalStorage(str(root / "repository"))
        self.kept: dict[str, Tree] = {}
        self.failures: list[BaseException] = []
        self.done = threading.Event()
        make_repository(self.storage)

    def write(self, number: int) -> None:
        """Back up a tree that changes, and delete each backup once there is a newer one."""
        own, last = reopened(self.storage), ""
        for turn in range(TURNS):
            content = files(*range(turn, turn + 6), number * 100 + turn, size=20_000)
            backup = back_up(own, self.root / f"tree {number}", content, name=f"source {number}")
            self.kept[backup] = content
            if last:
                self.kept.pop(last)
                forget(own, last)
            last = backup

    def restore(self) -> None:
        """Restore what is kept, over and over."""
        turn = 0
        while not self.done.is_set():
            own = reopened(self.storage)
            for backup, content in list(self.kept.items()):
                turn += 1
                try:
                    require_backup(own, backup, content, self.root / f"restored {turn}")
                except ValueError:
                    assert backup not in self.kept, "a backup that nobody deleted is not listed"

    def prune(self) -> None:
        """Prune, over and over."""
        while not self.done.is_set():
            run(self.storage)

    def thread(self, work: Callable[[], None]) -> threading.Thread:
        """Start `work`; what it raises is a failure."""

        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001  (told to the test)
                self.failures.append(error)

        started = threading.Thread(target=guarded)
        started.start()
        return started


def test_backups_restores_and_prunes_at_once(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path)
    writers = [crowd.thread(lambda number=number: crowd.write(number)) for number in range(2)]  # type: ignore[misc]
    others = [crowd.thread(work) for work in (crowd.restore, crowd.prune)]
    for thread in writers:
        thread.join(120)
    crowd.done.set()
    for thread in others:
        thread.join(120)
    assert crowd.failures == []
    run(crowd.storage)
    assert checked(crowd.storage).unused_packs == 0
    for number, (backup, content) in enumerate(crowd.kept.items()):
        require_backup(reopened(crowd.storage), backup, content, tmp_path / f"at last {number}")
