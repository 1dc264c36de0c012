"""4.3: a directory of very many names is read by several processes, and looks as if one had read it."""

import os
import signal
from collections.abc import Callable

import pytest

from repositories.engine import forked
from repositories.engine.browse import wide_directory as parted
from repositories.engine.display import show_names
from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import StreamRef
from repositories.engine.manifest.name_reader import wide_directory
from tests.engine.manifest.memory_chunks import MemoryChunks
from tests.engine.manifest.test_pages import big_tree, file_entry, write

pytestmark = pytest.mark.skipif(forked.processors() < 2, reason="one processor: one process reads all")

_WIDE = b"d0001"
_NAMES = [b"f%05d" % number for number in range(12_000)]
_FEW = 1_000


class Source(MemoryChunks):
    """Chunks near by; `change` is told of each page that another process reads, in that process."""

    far = False

    def __init__(self) -> None:
        super().__init__()
        self.change: Callable[[int], None] = _leave
        self._is_apart = False

    def apart(self) -> "Source":
        self._is_apart = True
        self.reads.clear()
        return self

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        data = super().read(kind, chunk_id)
        if self._is_apart:
            self.change(len(self.reads))
        return data


class Forks:
    """The processes that were forked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pids: list[int] = []
        begin = forked.fork

        def fork(*arguments: Callable[[], object]) -> int:
            pid = begin(*arguments)  # type: ignore[arg-type]
            self.pids.append(pid)
            return pid

        monkeypatch.setattr(forked, "fork", fork)

    def are_gone(self) -> bool:
        return all(not os.path.exists(f"/proc/{pid}") for pid in self.pids)


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> Forks:
    monkeypatch.setattr(forked, "processors", lambda: 3)
    monkeypatch.setattr(parted, "_TURN", 2)
    return Forks(monkeypatch)


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def top(source: Source) -> StreamRef:
    tree = big_tree(3, 50)
    tree[_WIDE] = [file_entry(name, extents=(name.ljust(32),)) for name in _NAMES]
    written = write(source, tree)
    assert written is not None
    return written


def _lines(source: Source, top: StreamRef) -> list[str]:
    pages = wide_directory(source, top, _WIDE, _FEW)
    return "\n".join(parted.shown_pages(source, pages, _WIDE)).split("\n")


def test_all_names_come_in_order_from_several_processes(source: Source, top: StreamRef, forks: Forks) -> None:
    assert _lines(source, top) == show_names(_WIDE, _NAMES).split("\n")
    assert len(forks.pids) == 2
    assert forks.are_gone()
    assert len(source.reads) < len(wide_directory(source, top, _WIDE, _FEW)), "the others have read nothing"


def test_what_a_process_leaves_when_it_dies_is_read_here(source: Source, top: StreamRef, forks: Forks) -> None:
    def die(count: int) -> None:
        if count == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    source.change = die
    assert _lines(source, top) == show_names(_WIDE, _NAMES).split("\n")
    assert len(forks.pids) == 2
    assert forks.are_gone()


def test_what_a_process_cannot_read_is_read_here(source: Source, top: StreamRef, forks: Forks) -> None:
    def fail(count: int) -> None:
        if count % 2:
            raise IntegrityError("only over there")

    source.change = fail
    assert _lines(source, top) == show_names(_WIDE, _NAMES).split("\n")
    assert len(forks.pids) == 2


def test_a_page_that_is_not_whole_is_told_and_the_processes_end(source: Source, top: StreamRef, forks: Forks) -> None:
    pages = wide_directory(source, top, _WIDE, _FEW)
    source.chunks[ChunkKind.PAGE, pages[5].id] = b"\x92\x00\xc1"
    with pytest.raises(IntegrityError, match="cannot be decoded"):
        list(parted.shown_pages(source, pages, _WIDE))
    assert forks.pids
    assert forks.are_gone()


def test_pages_out_of_order_are_refused_whoever_reads_them(source: Source, top: StreamRef, forks: Forks) -> None:
    pages = wide_directory(source, top, _WIDE, _FEW)
    for wrong in ([*pages[:3], *pages[2:]], [*pages[:2], pages[4], pages[3], *pages[5:]]):
        with pytest.raises(IntegrityError, match="twice or out of order"):
            list(parted.shown_pages(source, wrong, _WIDE))
    assert forks.pids


def test_who_needs_no_more_ends_the_processes(source: Source, top: StreamRef, forks: Forks) -> None:
    shown = parted.shown_pages(source, wide_directory(source, top, _WIDE, _FEW), _WIDE)
    assert next(iter(shown)).startswith("d0001/f00000\n")
    shown.close()  # type: ignore[attr-defined]
    assert len(forks.pids) == 2
    assert forks.are_gone()


def test_far_away_nothing_is_forked(source: Source, top: StreamRef, forks: Forks) -> None:
    source.far = True
    assert _lines(source, top) == show_names(_WIDE, _NAMES).split("\n")
    assert not forks.pids


def test_a_directory_of_few_names_is_none_of_these(source: Source, top: StreamRef) -> None:
    for path in (b"d0000", b"", b"nowhere"):
        assert wide_directory(source, top, path, _FEW) == []
    assert wide_directory(source, None, _WIDE, 0) == []


def _leave(_: int) -> None:
    pass
