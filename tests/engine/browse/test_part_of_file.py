"""A part of a file is put out without reading the rest of it (7.4)."""

import io
import os
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from repositories.engine.browse.dump import dump_file, dumped_object
from repositories.engine.limits import MIB
from repositories.engine.manifest.backups import list_backups
from repositories.engine.restore.chunks import content_of
from tests.engine.repositories import back_up_tree, make_repository


class Counting:
    """A reader that counts which chunks are taken from it."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.read_chunks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.reader, name)

    def extract(self, *words: Any) -> Any:
        self.read_chunks += 1
        return self.reader.extract(*words)


def test_a_part_of_a_file_is_its_bytes_and_no_other_chunk_is_read(tmp_path: Path) -> None:
    """Also over holes and at the borders of chunks."""
    (tmp_path / "tree").mkdir()
    with (tmp_path / "tree" / "sparse").open("wb") as file:
        for start in (0, 12 * MIB):
            file.seek(start)
            file.write(os.urandom(5 * MIB))
        size = file.seek(0, os.SEEK_END) + 4 * MIB
        file.truncate(size)
    content = (tmp_path / "tree" / "sparse").read_bytes()
    repository = make_repository()
    back_up_tree(repository, tmp_path / "tree")
    source = Counting(repository.reader())
    path, entry = dumped_object(source, list_backups(repository)[-1], b"sparse")
    assert entry is not None
    borders = list(accumulate(piece.length for piece in content_of(source, entry)))
    assert len(borders) > 5
    near = [edge + shift for edge in (0, *borders) for shift in (-1, 0, 1)]
    places = sorted({place for place in near if 0 <= place <= size})
    for start, stop in [*pairwise(places), (0, size), (places[2], places[-3])]:
        out = io.BytesIO()
        assert dump_file(source, path, entry, out.write, range(start, stop)).written == stop - start
        assert out.getvalue() == content[start:stop]
    before = source.read_chunks
    dump_file(source, path, entry, io.BytesIO().write, range(borders[0] - 1, borders[0] + 1))
    assert source.read_chunks - before == 2
