"""Directories tagged as caches: only the tag is kept, and only of a tag that is one (2.8)."""

import os
from pathlib import Path

import pytest

from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.source.cache_tags import SIGNATURE, TAG
from repositories.engine.source.excludes import ExcludeRules
from repositories.engine.source.filesystems import FileSystems
from repositories.engine.source.root import open_root
from repositories.engine.source.walker import Walker, WalkRules
from tests.engine.users import as_ordinary_user, let_others_through

NAME = os.fsdecode(TAG)


def walk(root: Path, *rules: str, exclude_caches: bool = True) -> tuple[list[bytes], list[tuple[ProblemKind, bytes]]]:
    problems: list[tuple[ProblemKind, bytes]] = []
    asked = WalkRules(ExcludeRules(rules), False, frozenset(), FileSystems(), exclude_caches)
    walker = Walker(
        open_root(os.fsencode(root), frozenset()), asked, lambda kind, path, _: problems.append((kind, path))
    )
    try:
        return [each.join(name) for each in walker.directories() for name, _ in each.items()], problems
    finally:
        walker.close()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    path = tmp_path / "tree" / "cache"
    (path / "below").mkdir(parents=True)
    (path / "below" / "junk").touch()
    (path / "A").touch()
    (path / "Z").touch()
    return path


def test_only_the_tag_of_a_cache_is_kept(cache: Path) -> None:
    (cache / NAME).write_bytes(SIGNATURE + b"\n# made by a program\n")
    assert walk(cache.parent) == ([b"cache", b"cache/" + TAG], [(ProblemKind.CACHE_DIRECTORY, b"cache")])
    assert len(walk(cache.parent, exclude_caches=False)[0]) == 6


def test_the_root_is_never_a_cache_and_rules_come_first(cache: Path) -> None:
    (cache / NAME).write_bytes(SIGNATURE)
    assert len(walk(cache)[0]) == 5
    assert walk(cache.parent, "cache") == ([], [(ProblemKind.EXCLUDED, b"cache")])
    found, problems = walk(cache.parent, NAME, "!Z")
    assert (found, [kind for kind, _ in problems]) == (
        [b"cache"],
        [ProblemKind.CACHE_DIRECTORY, ProblemKind.EXCLUDED],
    )


@pytest.mark.parametrize("content", [b"", SIGNATURE[:-1], SIGNATURE.lower(), b" " + SIGNATURE, b"\xff" * 43])
def test_another_signature_is_no_tag(cache: Path, content: bytes) -> None:
    (cache / NAME).write_bytes(content)
    assert len(walk(cache.parent)[0]) == 6


def test_what_is_no_regular_file_is_no_tag(cache: Path, tmp_path: Path) -> None:
    """A link is not followed, a FIFO does not block, a directory is just one."""
    (tmp_path / "real").write_bytes(SIGNATURE)
    tag = cache / NAME
    for make in (
        lambda: tag.symlink_to(tmp_path / "real"),
        lambda: os.mkfifo(tag),
        tag.mkdir,
    ):
        make()
        assert len(walk(cache.parent)[0]) == 6
        tag.rmdir() if tag.is_dir() and not tag.is_symlink() else tag.unlink()
    (cache / NAME.lower()).write_bytes(SIGNATURE)
    assert len(walk(cache.parent)[0]) == 6


def test_a_tag_that_may_not_be_read_does_not_count(cache: Path, tmp_path: Path) -> None:
    """Too much in a backup is better than too little."""
    (cache / NAME).write_bytes(SIGNATURE)
    (cache / NAME).chmod(0)
    let_others_through(tmp_path)
    assert len(as_ordinary_user(lambda: walk(cache.parent), cache.parent)[0]) == 6
