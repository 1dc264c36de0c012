"""Collects files into windows and has them written by several threads, in the order of packs and blocks.

Owns the threads and the bound on open directories and files. The walk goes on while a window is written. One more waits
for its turn: a thread that is through with its part goes on with that, and from far away its blocks come meanwhile.
From the third window on each thread hands whole windows to a process, where there are any to be had.
"""

import os
import resource
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from repositories.engine.manifest.entries import Entry
from repositories.engine.restore.chunks import ANNOUNCED_TOGETHER, AnyChunks, Place, first_place, inline_places
from repositories.engine.restore.co_writers import CoWriters
from repositories.engine.restore.directories import Surroundings
from repositories.engine.restore.filling import FileTask, by_place
from repositories.engine.restore.writing import FileWriter

WRITERS: Final = 2
ALONE: Final = 2
"""Windows that threads write alone: forking costs more than a few thousand files do."""
_FILES: Final = 800
_FILES_SHARED: Final = 1600
"""With processes, of which each decodes the block at the border of its windows for itself."""
_WAITING: Final = 1
_DIRECTORIES: Final = 400
_DIRECTORIES_SHARED: Final = 800
_OTHERS: Final = 224
"""Descriptors for all else."""
_BYTES: Final = 32 * 1024 * 1024
_BYTES_FAR: Final = 26 * 1024 * 1024
"""Three of them, and what is announced of pages, fit into what is read ahead."""
_LARGE: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Window:
    """Files that are being written, or wait for that, and the directories that are open for them."""

    running: list[Future[None]]
    held: list[int]


class Windows:
    """Takes files in any order and writes them; `finish` waits for all. Used by one thread."""

    def __init__(
        self, source: AnyChunks, writer: FileWriter, begin_co_writers: Callable[[], CoWriters] | None = None
    ) -> None:
        """`begin_co_writers` is called when there is much to write and no thread reads; None = there are none."""
        self._source = source
        self._writer = writer
        self._begin_co_writers = None if source.far else begin_co_writers
        self._co_writers: CoWriters | None = None
        self._alone = 0
        self._waiting = _WAITING
        self._most_files = _FILES
        self._most_directories = _DIRECTORIES // (2 + _WAITING)
        self._pool = ThreadPoolExecutor(WRITERS, "syncova-restore")
        self._readers = ThreadPoolExecutor(WRITERS, "syncova-read")
        self._tasks: list[FileTask] = []
        self._bytes = 0
        self._places: list[Place] = []
        self._places_bytes = 0
        self._held: list[int] = []
        self._directory = -1
        self._begun: deque[_Window] = deque()
        self._far = source.far
        self._most_bytes = _BYTES_FAR if self._far else _BYTES
        self._ended = False
        self._failure: BaseException | None = None

    def enter(self) -> None:
        """The walk stands in another directory now."""
        self._directory = -1

    def add(self, directory: int, path: bytes, entry: Entry, around: Surroundings, *, at_once: bool = False) -> None:
        """Take a file to be written into the open directory `directory`. Raises what broke the restore.

        `at_once` = it has its name when this returns.
        """
        self._raise_failure()
        readers = self._readers if entry.size > _LARGE else None
        # Far away a large file, too, waits for its window: the blocks of the next ones come meanwhile.
        if at_once or (readers is not None and not self._far):
            self._writer.write(FileTask(directory, path, entry, around, readers=self._readers))
            return
        if self._directory < 0:
            self._directory = os.dup(directory)
            self._held.append(self._directory)
        # A process puts what it gets in order for itself.
        first = first_place(self._source, entry) if self._co_writers is None else None
        task = FileTask(self._directory, path, entry, around, first, readers)
        self._tasks.append(task)
        self._bytes += entry.size
        self._announce(task)
        if self._is_full():
            self._start()

    def finish(self) -> None:
        """Write what is left and wait for it."""
        self._start()
        self._wait(0)
        self._ended = True
        if self._co_writers is not None:
            self._co_writers.end()

    def close(self) -> None:
        """End the threads and close what is held; after an error, without waiting for what is still to be written."""
        if not self._ended:
            self._give_up()
        for pool in (self._pool, self._readers):
            pool.shutdown(wait=True, cancel_futures=True)
        if self._co_writers is not None:
            self._co_writers.end()
        for held in (self._held, *(window.held for window in self._begun)):
            _close(held)
        self._begun.clear()

    def _is_full(self) -> bool:
        if len(self._tasks) >= self._most_files or len(self._held) >= self._most_directories:
            return True
        return self._bytes >= self._most_bytes

    def _announce(self, task: FileTask) -> None:
        """Let a file's blocks be fetched from a medium far away while those before it are written."""
        # Larger ones announce what follows while they are written.
        if not self._far or task.entry.size > _BYTES or self._writer.may_leave(task):
            return
        self._places += inline_places(self._source, task.entry)
        self._places_bytes += task.entry.size
        if self._places_bytes >= ANNOUNCED_TOGETHER:
            self._expect()

    def _expect(self) -> None:
        if self._places:
            self._source.expect(self._places)
        self._places, self._places_bytes = [], 0

    def _start(self) -> None:
        self._expect()
        self._share()
        self._wait(self._waiting)
        tasks, parts = self._tasks, [self._tasks]
        if self._co_writers is None:
            tasks.sort(key=by_place)
            border = _border(tasks)
            parts = [tasks[:border], tasks[border:]]
        running = [self._pool.submit(self._write_all, part) for part in parts if part]
        self._begun.append(_Window(running, self._held))
        self._tasks, self._held, self._directory, self._bytes = [], [], -1, 0

    def _share(self) -> None:
        """Let processes write, too, once there is much to write."""
        self._alone += 1
        if self._alone <= ALONE or self._begin_co_writers is None:
            return
        begin, self._begin_co_writers = self._begin_co_writers, None
        self._wait(0)  # what they are forked with must be in nobody's hands
        co_writers = begin()
        if co_writers.at_once:
            self._co_writers = co_writers
            self._pool.shutdown()
            self._pool = ThreadPoolExecutor(co_writers.at_once, "syncova-restore")
            self._waiting = co_writers.at_once - 1
            self._most_files = _FILES_SHARED
            self._most_directories = _open_at_once() // (2 + self._waiting)

    def _wait(self, left: int) -> None:
        """Wait until at most `left` windows are not written yet. Raises what broke the restore."""
        while len(self._begun) > left:
            window = self._begun.popleft()
            for future in window.running:
                future.exception()
            _close(window.held)
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _give_up(self) -> None:
        """Let nobody go on, or wait for anything: called by whichever thread fails first, or by the walk's."""
        self._ended = True
        self._writer.stop()
        self._source.give_up()
        if self._co_writers is not None:
            self._co_writers.stop()

    def _write_all(self, tasks: list[FileTask]) -> None:
        try:
            if self._co_writers is not None:
                tasks = self._co_writers.write(tasks)
            for task in tasks:
                if self._ended:
                    return
                self._writer.write(task)
        except BaseException as error:
            # What others fail with from now on is what this one does to them.
            self._failure = self._failure or error
            self._give_up()
            raise


def _open_at_once() -> int:
    """Return how many directories all windows together may hold open when processes write."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    few = limit != resource.RLIM_INFINITY and limit - _OTHERS < _DIRECTORIES_SHARED
    return max(_DIRECTORIES, limit - _OTHERS) if few else _DIRECTORIES_SHARED


def _close(held: list[int]) -> None:
    while held:
        os.close(held.pop())


def _border(tasks: list[FileTask]) -> int:
    """Return where to part sorted files: as near to the middle as a new block begins, else in the middle.

    Two threads that begin with the same block would both decode it.
    """
    middle = len(tasks) // WRITERS
    borders = (at for at in range(1, len(tasks)) if by_place(tasks[at])[:2] != by_place(tasks[at - 1])[:2])
    return min(borders, key=lambda at: abs(at - middle), default=middle)
