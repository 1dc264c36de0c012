"""Directories of very many entries: memory of one name. A million of them: `python -m tests.long.wide_directory`."""

import os
import tracemalloc
from pathlib import Path

from repositories.engine.source.walker import list_names

COUNT = 20_000
MOST_BYTES = 120


def test_a_directory_takes_little_memory_a_name(tmp_path: Path) -> None:
    """2.1; engine.md, section 8: at most 150 bytes a name, and the walk must leave room for its own."""
    directory = os.open(tmp_path, os.O_RDONLY)
    for number in range(COUNT):
        os.mkfifo(b"a name of usual length %05d" % number, dir_fd=directory)
    tracemalloc.start()
    try:
        names = list_names(directory)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        os.close(directory)
    assert names == [b"a name of usual length %05d" % number for number in range(COUNT)]
    assert peak / COUNT < MOST_BYTES
