"""2.1, 2.11: one path, one directory, or everything below, from only the pages that hold it."""

from itertools import islice

import pytest

from repositories.engine.browse.looking import entries_of, entry_at
from repositories.engine.errors import ConfigurationError
from repositories.engine.manifest.entries import EntryType
from repositories.engine.repository import Repository
from tests.engine.browse.builders import CountingChunks, made_up, make_backup, wide

MANY = 30_000


def test_a_wide_directory_is_streamed_and_one_entry_is_one_page(repository: Repository) -> None:
    paths = wide(3, 10) | {b"wide": made_up(b"wide", EntryType.DIRECTORY)}
    paths |= {b"wide/%07d" % number: made_up(b"%07d" % number, size=number) for number in range(MANY)}
    backup = make_backup(repository, paths | {b"z": made_up(b"z", EntryType.DIRECTORY), b"z/last": made_up(b"last")})
    source = CountingChunks(repository.reader())
    assert sum(1 for _ in entries_of(source, backup, b"wide", recursive=False)) == MANY
    whole = len(source.pages)
    assert whole > 8
    source.pages.clear()
    first = [path for path, _ in islice(entries_of(source, backup, b"wide", recursive=False), 3)]
    assert first == [b"wide/0000000", b"wide/0000001", b"wide/0000002"]
    assert len(source.pages) <= 5
    for path in (b"wide/0015000", b"wide/0029999", b"wide/0000000", b"z/last", b"d0001"):
        source.pages.clear()
        entry = entry_at(source, backup, path)
        assert entry is not None
        assert entry.name == path.rpartition(b"/")[2]
        assert len(source.pages) <= 2
    for path in (b"wide/0015000x", b"wide/x", b"wide/0", b"wid", b"zz", b"z/last/x", b"a/b"):
        source.pages.clear()
        with pytest.raises(ConfigurationError, match="is not in backup"):
            entry_at(source, backup, path)
        assert len(source.pages) <= 3


def test_a_directory_a_file_and_everything(repository: Repository) -> None:
    paths = wide(2, 3) | {b"empty": made_up(b"empty", EntryType.DIRECTORY)}
    backup = make_backup(repository, paths)
    source = repository.reader()

    def listed(path: bytes, *, recursive: bool = False) -> list[bytes]:
        return [each for each, _ in entries_of(source, backup, path, recursive=recursive)]

    assert listed(b"") == [b"d0000", b"d0001", b"empty"]
    assert listed(b"empty") == listed(b"empty", recursive=True) == []
    assert listed(b"d0001") == sorted(path for path in paths if path.startswith(b"d0001/"))
    assert set(listed(b"", recursive=True)) == set(paths)
    one = b"d0001/file 00001 of a long enough name"
    assert listed(one) == listed(one, recursive=True) == [one]
