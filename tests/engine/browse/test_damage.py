"""2.11, 2.12: a dump of damaged or tampered data is never silently wrong, and never harmful to who unpacks it."""

import io
import itertools
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from repositories.engine.browse.archive import Dumped
from repositories.engine.browse.dump import dump_archive, dump_file, dumped_object
from repositories.engine.errors import EngineError, IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.manifest.entry_reader import page_ids
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.browse.builders import hurt_chunk, made_up, make_backup, wide
from tests.engine.repositories import back_up_tree, entry_of, make_repository
from tests.engine.restore.test_hostile import ATTACKS, hostile
from tests.engine.trees import pattern

LARGE = 12_000_000


@pytest.fixture
def hurt(tmp_path: Path, repository: Repository, storage: MemoryStorage) -> Repository:
    """A backup of which at least a large file, and a small one with its second name, are damaged."""
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    for name, data in (("a", b"a" * 300_000), ("m large", pattern(LARGE)), ("z", pattern(1_500_000, 7))):
        (tree / name).write_bytes(data)
    (tree / "sub" / "small").write_bytes(pattern(1_200_000, 3))
    os.link(tree / "sub" / "small", tree / "sub" / "twin")
    back_up_tree(repository, tree)
    large, small = entry_of(repository, b"m large"), entry_of(repository, b"sub/small")
    for chunk in ((large.extents or ())[-1], (small.extents or ())[-1]):
        assert isinstance(chunk, bytes)
        hurt_chunk(repository, storage, ChunkKind.DATA, chunk)
    return repository


def damaged(repository: Repository) -> list[bytes]:
    """Return what lies in damaged blocks, in the order of the archive."""
    reader = repository.reader()

    def whole(entry: Entry) -> bool:
        try:
            return all(reader.read(ChunkKind.DATA, each) for each in entry.extents or () if isinstance(each, bytes))
        except IntegrityError:
            return False

    backup = list_backups(repository)[-1]
    return [path for path, entry in walk_entries(repository, backup) if not whole(entry)]


def dumped(repository: Repository, *, skip: bool) -> tuple[bytes, Dumped | EngineError]:
    out = io.BytesIO()
    backup = list_backups(repository)[-1]
    try:
        told: Dumped | EngineError = dump_archive(repository.reader(), backup, b"", out.write, skip_damaged=skip)
    except EngineError as error:
        told = error
    return out.getvalue(), told


def test_damage_ends_the_dump_and_no_tar_takes_it_for_whole(hurt: Repository, tmp_path: Path) -> None:
    """Exit code 13, the file by name, and an archive without an end, even for those that need no end mark."""
    data, error = dumped(hurt, skip=False)
    assert isinstance(error, IntegrityError)
    assert f"{damaged(hurt)[0].decode()} cannot be read" in error.message
    assert error.exit_code == 13
    (tmp_path / "out").mkdir()
    words = ["tar", "-xf", "-", "-C", str(tmp_path / "out")]
    ended = subprocess.run(words, input=data, capture_output=True, check=False)
    assert (ended.returncode, b"Unexpected EOF" in ended.stderr) == (2, True)
    with pytest.raises(tarfile.ReadError):
        contents(data)


def test_small_damage_is_found_before_a_header_is_written(hurt: Repository) -> None:
    out = io.BytesIO()
    with pytest.raises(IntegrityError, match="sub/small cannot be read"):
        dump_archive(hurt.reader(), list_backups(hurt)[-1], b"sub", out.write)
    with pytest.raises(tarfile.ReadError), tarfile.open(fileobj=io.BytesIO(out.getvalue())) as tar:
        assert [member.name for member in tar] == ["sub"]
    assert b"sub/small" not in out.getvalue()


def test_what_is_damaged_can_be_left_out(hurt: Repository, tmp_path: Path) -> None:
    """A long file is read before its header is put out: there is no half of it in the archive."""
    data, done = dumped(hurt, skip=True)
    assert isinstance(done, Dumped)
    assert {b"m large", b"sub/small", b"sub/twin"} <= set(done.damaged_paths)
    assert done.damaged_paths == damaged(hurt)
    assert done.damaged == len(done.damaged_paths)
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "-xf", "-", "-C", str(tmp_path / "out")], input=data, check=True)
    left_out = {path.decode() for path in done.damaged_paths}
    whole = {"a": b"a" * 300_000, "z": pattern(1_500_000, 7)}
    unpacked = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert unpacked == {name: data for name, data in whole.items() if name not in left_out}


def test_a_single_damaged_file_says_how_much_came(hurt: Repository) -> None:
    out = io.BytesIO()
    source, backup = hurt.reader(), list_backups(hurt)[-1]
    with pytest.raises(IntegrityError, match=r"m large cannot be read whole: .* of 12,000,000 bytes were put out"):
        dump_file(source, *dumped_object(source, backup, b"m large"), out.write)
    assert pattern(LARGE).startswith(out.getvalue())


def test_lost_pages_are_told_and_the_rest_is_there(repository: Repository, storage: MemoryStorage) -> None:
    # More pages than the largest block holds: the list of pages lies in another one than the first leaf.
    backup = make_backup(repository, wide(40, 1200))
    top = backup.root.pages
    assert top is not None
    leaves = [page for page, level in page_ids(repository.reader(), top, lambda _: False) if level == 0]
    hurt_chunk(repository, storage, ChunkKind.PAGE, leaves[0])
    _, error = dumped(repository, skip=False)
    assert isinstance(error, IntegrityError)
    data, done = dumped(repository, skip=True)
    assert isinstance(done, Dumped)
    assert 0 < done.damaged < 48040
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert len(tar.getmembers()) == 48041 - done.damaged


def contents(data: bytes) -> dict[str, bytes]:
    """Read an archive to its end."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {each.name: tar.extractfile(each).read() for each in tar if each.isreg()}  # type: ignore[union-attr]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("skip", [False, True])
def test_tampered_backups_make_no_harmful_member(attack: str, skip: bool) -> None:
    """engine.md 1.8: no member outside, none below a link, none of another content than it says."""
    data, told = dumped(hostile(ATTACKS[attack]), skip=skip)
    if isinstance(told, EngineError):
        assert told.exit_code == 13
        with pytest.raises(tarfile.ReadError), tarfile.open(fileobj=io.BytesIO(data)) as tar:
            tar.getmembers()
        return
    assert skip
    assert told.damaged > 0
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        members = tar.getmembers()
    links = {member.name for member in members if member.issym()}
    for member in members:
        parts = member.name.split("/")
        assert ".." not in parts
        assert not member.name.startswith("/")
        assert links.isdisjoint("/".join(parts[:end]) for end in range(1, len(parts)))


def test_one_group_of_different_objects_is_no_group() -> None:
    """A tampered manifest must not turn one file into another's name."""
    repository = make_repository()
    paths = {
        name: made_up(name, size=size, link_group=(0, 1)) for name, size in ((b"a", 1000), (b"b", 2000), (b"c", 1000))
    }
    paths[b"d"] = made_up(b"d", EntryType.FIFO, mode=0o010600, link_group=(0, 1))
    make_backup(repository, paths)
    data, _ = dumped(repository, skip=False)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        told = [(member.name, member.size, member.linkname) for member in tar if member.name != "."]
    assert told == [("a", 1000, ""), ("b", 2000, ""), ("c", 0, "a"), ("d", 0, "")]


@pytest.mark.parametrize("when", ["before", "behind"])
def test_an_interrupt_leaves_an_unfinished_archive_wherever_it_comes(when: str) -> None:
    """Ctrl-C must not leave what many tars take for a whole archive: before or behind any of the writes."""
    repository = make_repository()
    sizes = (1024, 600, 300_000, 512, 0, 1)
    make_backup(repository, {b"%d" % size: made_up(b"%d" % size, size=size) for size in sizes})
    backup, source = list_backups(repository)[-1], repository.reader()
    writes: list[int] = []
    dump_archive(source, backup, b"", lambda data: writes.append(len(data)))
    assert len(writes) > 8
    for at in range(len(writes) - 1):
        out = io.BytesIO()
        count = itertools.count()

        def emit(data: bytes | memoryview) -> None:
            interrupted = next(count) == at  # noqa: B023  (called before the next turn)
            if not interrupted or when == "behind":
                out.write(data)  # noqa: B023
            if interrupted:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            dump_archive(source, backup, b"", emit)
        # The library does not expect the map of a sparse file to end early, but does not take it for whole either.
        with pytest.raises((tarfile.ReadError, ValueError)):
            contents(out.getvalue())
