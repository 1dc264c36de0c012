"""A prune that stands in its wait for sessions while a test does something."""

import threading
from collections.abc import Callable

from repositories.engine.backup import Hooks
from repositories.engine.progress import Progress
from repositories.engine.prune import PruneReport
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import run


class Meanwhile:
    """Lets a prune run into its wait for sessions, then does something, and lets it go on."""

    def __init__(
        self, storage: MemoryStorage, report: Callable[[Progress], None] = lambda progress: None, **changes: object
    ) -> None:
        self.storage = storage
        self.waits = threading.Event()
        self.report: PruneReport | None = None
        self.failure: BaseException | None = None
        self._changes = changes
        self._report = report
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Meanwhile":
        self._thread.start()
        assert self.waits.wait(60), self.failure
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _log(self, level: str, message: str) -> None:
        if message.startswith("waiting for"):
            self.waits.set()

    def _run(self) -> None:
        try:
            self.report = run(self.storage, Hooks(report=self._report, log=self._log), **self._changes)
        except BaseException as error:  # noqa: BLE001  (told to the test)
            self.failure = error
        finally:
            self.waits.set()
