"""2.1: depth of thousands and paths beyond PATH_MAX, through every command that reads or writes a backup."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.programs import Programs
from tests.engine.deep_trees import STEP, build_deep, facts_down
from tests.engine.trees import DIRECTORY, remove_deep

DEPTH = 1500
OBJECTS = 1 + DEPTH + 15 * 4
WAY = "/".join([STEP.decode()] * 1400)


@pytest.fixture
def tree(tmp_path: Path, programs: Programs) -> Iterator[Path]:
    root = tmp_path / "tree"
    build_deep(root, DEPTH)
    assert programs.back_up(root, words=("--source", "tree")).code == 0
    yield root
    for each in ("tree", "out", "part"):
        if (tmp_path / each).exists():
            remove_deep(tmp_path / each)


def change_the_bottom(root: Path) -> None:
    here = os.open(root, DIRECTORY)
    for _ in range(DEPTH):
        below = os.open(STEP, DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open(b"new", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_depth_of_thousands(programs: Programs, tree: Path, tmp_path: Path) -> None:
    before = facts_down(tree)
    assert len(before) == DEPTH + 1
    where = ("-r", programs.repository)
    restore = (*where, "--backup", "latest", "--source", "tree", "--target")
    assert programs.agent("restore", *restore, tmp_path / "out", "--verify").code == 0
    assert facts_down(tmp_path / "out") == before
    again = ("--overwrite", "always", "--delete", "--yes", "--verify")
    assert programs.agent("restore", *restore, tmp_path / "out", *again).code == 0
    assert facts_down(tmp_path / "out") == before
    assert programs.agent("restore", *restore, tmp_path / "out", "--dry-run").code == 0
    part = f"{WAY}/file"
    assert programs.agent("restore", *restore, tmp_path / "part", "--path", part).code == 0
    assert len(facts_down(tmp_path / "part")) == 1401
    change_the_bottom(tree)
    assert programs.back_up(tree, words=("--source", "tree", "--dry-run")).code == 0
    assert programs.back_up(tree, words=("--source", "tree", "--exclude", "*.tmp")).code == 0
    assert programs.repo("check", *where, "--read-data").code == 0
    _look(programs, where)


def _look(programs: Programs, where: tuple[str | Path, ...]) -> None:
    listed = programs.repo("ls", *where, "-R", "latest")
    assert (listed.code, len(listed.out.splitlines())) == (0, OBJECTS + 1)
    detailed = programs.repo("ls", *where, "-lR", "latest", "--json")
    assert len(json.loads(detailed.out)["entries"]) == OBJECTS + 1
    assert WAY in programs.repo("ls", *where, "latest", WAY).out
    found = programs.repo("find", *where, "file")
    assert len([line for line in found.out.splitlines() if line.endswith("/file")]) == 14
    ids = [each["id"] for each in json.loads(programs.repo("list", *where, "--json").out)["backups"]]
    differing = programs.repo("diff", *where, *ids)
    assert (differing.code, differing.out.count("/new")) == (0, 1)
    assert programs.repo("show", *where, "latest").code == 0
    dumped = programs.repo("dump", *where, "latest", "--output", str(programs.directory / "all.tar"))
    assert dumped.code == 0, dumped.err
