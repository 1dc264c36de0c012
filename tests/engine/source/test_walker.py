"""The walk: order, what is left out and why, depth, and things that are not as they were a moment ago."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories.engine.errors import ConfigurationError, SourceError, SourceMissingError
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.source.directory import Directory
from repositories.engine.source.excludes import ExcludeRules
from repositories.engine.source.filesystems import FileSystems
from repositories.engine.source.root import identities, open_root
from repositories.engine.source.walker import Walker, WalkRules
from tests.engine.trees import AWKWARD_NAMES, build_everything, remove_deep

Problems = list[tuple[ProblemKind, bytes]]


def walk(
    root: Path | bytes,
    *,
    excludes: tuple[str, ...] = (),
    one_file_system: bool = False,
    own: tuple[bytes, ...] = (),
    file_systems: FileSystems | None = None,
) -> tuple[list[tuple[bytes, bytes]], Problems]:
    """Return [(directory, name)] in the order of the walk, and its problems."""
    problems: Problems = []
    kept = identities(own)
    rules = WalkRules(ExcludeRules(excludes), one_file_system, kept, file_systems or FileSystems())
    walker = Walker(open_root(os.fsencode(root), kept), rules, lambda kind, path, _: problems.append((kind, path)))
    try:
        found = [(directory.path, name) for directory in walker.directories() for name, _ in directory.items()]
    finally:
        walker.close()
    return found, problems


def paths(found: list[tuple[bytes, bytes]]) -> list[bytes]:
    return [directory + b"/" + name if directory else name for directory, name in found]


def test_everything_comes_once_and_in_manifest_order(tmp_path: Path) -> None:
    build_everything(tmp_path / "tree")
    found, problems = walk(tmp_path / "tree")
    expected = [
        os.path.relpath(os.path.join(base, name), os.fsencode(tmp_path / "tree"))
        for base, directories, files in os.walk(os.fsencode(tmp_path / "tree"))
        for name in directories + files
    ]
    assert (sorted(paths(found)), problems) == (sorted(expected), [])
    assert found == sorted(found, key=lambda item: (directory_key(item[0]), item[1]))


@given(st.lists(st.lists(st.sampled_from([b"a", b"b", b"a!", b"\xff", b"a\n"]), min_size=1, max_size=6), max_size=20))
@settings(max_examples=30, deadline=None)
def test_any_tree_is_walked_in_manifest_order(
    tmp_path_factory: pytest.TempPathFactory, tree: list[list[bytes]]
) -> None:
    root = os.fsencode(tmp_path_factory.mktemp("walk"))
    for parts in tree:
        os.makedirs(os.path.join(root, *parts), exist_ok=True)
    found, _ = walk(root)
    assert found == sorted(found, key=lambda item: (directory_key(item[0]), item[1]))
    assert set(paths(found)) == {b"/".join(parts[:end]) for parts in tree for end in range(1, len(parts) + 1)}


def test_depth_of_thousands_and_paths_beyond_the_limit(tmp_path: Path) -> None:
    """engine.md 1.7: neither depth nor path length has a limit; few descriptors are used."""
    depth = 1500
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for number in range(depth):
        os.mkdir(b"deep", dir_fd=descriptor)
        os.close(os.open(b"side%d" % (number % 3), os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
        below = os.open(b"deep", os.O_RDONLY, dir_fd=descriptor)
        os.mkdir(b"zweig", dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    before = len(os.listdir("/proc/self/fd"))
    try:
        found, problems = walk(tmp_path)
    finally:
        remove_deep(tmp_path)
    assert len(found) == 3 * depth
    assert problems == []
    assert len(os.listdir("/proc/self/fd")) == before
    assert max(map(len, paths(found))) > 4096


def test_names_of_any_bytes(tmp_path: Path) -> None:
    for name in AWKWARD_NAMES:
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    assert paths(walk(tmp_path)[0]) == sorted(AWKWARD_NAMES)


def test_one_file_as_source(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    (tmp_path / "y").write_bytes(b"y")
    (tmp_path / "link").symlink_to("y")
    assert walk(tmp_path / "x") == ([(b"", b"x")], [])
    assert walk(tmp_path / "link") == ([(b"", b"y")], [])


def test_a_link_as_root_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x").write_bytes(b"")
    (tmp_path / "link").symlink_to("real")
    assert walk(tmp_path / "link")[0] == [(b"", b"x")]


def test_roots_that_cannot_be(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SourceMissingError):
        walk(tmp_path / "missing")
    with pytest.raises(SourceError, match="neither"):
        walk(tmp_path / "fifo")
    with pytest.raises(ConfigurationError, match="absolute"):
        walk(b"relative")


def test_slash_as_source_stays_out_of_what_the_kernel_makes_up() -> None:
    problems: Problems = []
    rules = WalkRules(ExcludeRules(["/*/*"]), False, frozenset(), FileSystems())
    walker = Walker(open_root(b"/", frozenset()), rules, lambda kind, path, _: problems.append((kind, path)))
    try:
        found = [(d.path, name) for d in walker.directories() for name, _ in d.items()]
    finally:
        walker.close()
    assert (b"", b"proc") in found
    assert (b"", b"etc") in found
    assert (ProblemKind.PSEUDO_FILE_SYSTEM, b"proc") in problems
    assert not [path for directory, path in found if directory == b"proc"]


def test_own_data_is_left_out_by_identity(tmp_path: Path) -> None:
    """Also when the source is the repository's own parent, and when a link or mount names it otherwise."""
    for name in ("repository/packs", "data", "a"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "other name").symlink_to("repository")
    found, problems = walk(tmp_path, own=(os.fsencode(tmp_path / "other name"), os.fsencode(tmp_path / "gone")))
    assert paths(found) == [b"a", b"data", b"other name"]
    assert problems == [(ProblemKind.OWN_DATA, b"repository")]
    for inside in ("repository", "repository/packs"):
        with pytest.raises(ConfigurationError, match="own data"):
            walk(tmp_path / inside, own=(os.fsencode(tmp_path / "repository"),))


class FakeMounts(FileSystems):
    def __init__(self, pseudo: int | None) -> None:
        super().__init__("/nonexistent")
        self.pseudo = pseudo

    def is_pseudo(self, device: int) -> bool:
        return device == self.pseudo


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="there is no such file system")
def test_a_root_that_the_kernel_makes_up_is_refused() -> None:
    for root in ("/proc", "/proc/self", "/sys/kernel"):
        with pytest.raises(SourceError, match=f"source {root} lies on a file system that the kernel makes up"):
            walk(Path(root))


def test_other_file_systems_stay_as_empty_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mount" / "below").mkdir(parents=True)
    (tmp_path / "z").write_bytes(b"")
    real_stat, real_fstat = os.stat, os.fstat
    inode = real_stat(tmp_path / "mount").st_ino

    def moved(status: os.stat_result) -> os.stat_result:
        if status.st_ino == inode:
            return os.stat_result([*status[:2], status.st_dev + 1, *status[3:]])
        return status

    monkeypatch.setattr("repositories.engine.source.walker.os.stat", lambda *a, **k: moved(real_stat(*a, **k)))
    monkeypatch.setattr("repositories.engine.source.descent.os.fstat", lambda descriptor: moved(real_fstat(descriptor)))
    found, problems = walk(tmp_path, one_file_system=True)
    assert paths(found) == [b"mount", b"z"]
    assert problems == [(ProblemKind.OTHER_FILE_SYSTEM, b"mount")]
    found, problems = walk(tmp_path, file_systems=FakeMounts(tmp_path.stat().st_dev + 1))
    assert paths(found) == [b"mount", b"z"]
    assert problems == [(ProblemKind.PSEUDO_FILE_SYSTEM, b"mount")]
    assert b"mount/below" in paths(walk(tmp_path, file_systems=FakeMounts(None))[0])


def test_types_of_file_systems_are_read_from_the_mounts(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n26 1 8:1 / / rw - ext4 /dev/sda1 rw\nbad\n"
    )
    with open(mounts, "a") as file:
        file.write("27 1 0:42 / /made rw - fuse.program program rw\n")
    systems = FileSystems(str(mounts))
    assert systems.is_pseudo(os.makedev(0, 23))
    assert not systems.is_pseudo(os.makedev(8, 1))
    assert not systems.is_pseudo(os.makedev(9, 9))
    assert not systems.is_pseudo(os.makedev(0, 42))
    told = {
        (major, minor)
        for major, minor in ((0, 23), (8, 1), (9, 9), (0, 42))
        if systems.tells_sizes(os.makedev(major, minor))
    }
    assert told == {(8, 1), (9, 9)}


def steps(root: Path, problems: Problems, rules: WalkRules | None = None) -> Iterator[tuple[Walker, Directory]]:
    rules = rules or WalkRules(ExcludeRules([]), False, frozenset(), FileSystems())
    walker = Walker(
        open_root(os.fsencode(root), frozenset()), rules, lambda kind, path, _: problems.append((kind, path))
    )
    try:
        for directory in walker.directories():
            yield walker, directory
    finally:
        walker.close()


def test_what_vanishes_or_is_swapped_during_the_walk(tmp_path: Path) -> None:
    for name in ("a/x", "b/x", "c/x", "d/x"):
        (tmp_path / name).mkdir(parents=True)
    problems: Problems = []
    seen: list[bytes] = []
    for _, directory in steps(tmp_path, problems):
        names = [name for name, _ in directory.items()]
        seen += [directory.join(name) for name in names]
        if directory.path == b"":
            (tmp_path / "b/x").rmdir()
            (tmp_path / "b").rmdir()
            (tmp_path / "c").rename(tmp_path / "moved")
            (tmp_path / "c").symlink_to("/etc")
        if directory.path == b"d":
            (tmp_path / "d").rename(tmp_path / "a" / "d")
    assert seen == [b"a", b"b", b"c", b"d", b"a/x", b"d/x"]
    assert problems == [(ProblemKind.VANISHED, b"b"), (ProblemKind.TYPE_CHANGED, b"c")]


def test_the_way_back_is_found_after_a_move(tmp_path: Path) -> None:
    """Descriptors above are closed in deep trees: `..` of a moved directory is not the one we came from."""
    deep = [b"d%02d" % number for number in range(90)]
    current = os.fsencode(tmp_path)
    for part in deep:
        current += b"/" + part
        os.mkdir(current)
        os.mkdir(current + b"/zz")
    problems: Problems = []
    seen = 0
    for _, directory in steps(tmp_path, problems):
        seen += sum(1 for _ in directory.items())
        if directory.path == b"/".join(deep):
            victim = os.fsencode(tmp_path) + b"/" + b"/".join(deep[:11])
            os.rename(victim, os.fsencode(tmp_path) + b"/moved")
    # All that lies below the moved directory is still walked; its own neighbours too, found again from the root.
    assert seen == 180
    assert problems == []


def test_unlistable_and_unstatable_objects_are_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locked" / "in").mkdir(parents=True)
    (tmp_path / "open").mkdir()
    real_open, real_stat = os.open, os.stat

    def refuse_open(path: Any, *rest: Any, **options: Any) -> int:
        if path == b"locked":
            raise PermissionError(13, "Permission denied")
        return real_open(path, *rest, **options)

    def fail_stat(path: Any, **options: Any) -> os.stat_result:
        if path == b"open":
            raise OSError(5, "Input/output error")
        return real_stat(path, **options)

    monkeypatch.setattr("repositories.engine.source.descent.os.open", refuse_open)
    monkeypatch.setattr("repositories.engine.source.walker.os.stat", fail_stat)
    found, problems = walk(tmp_path)
    assert paths(found) == [b"locked"]
    assert problems == [(ProblemKind.IO_ERROR, b"open"), (ProblemKind.PERMISSION, b"locked")]


def test_excluded_directories_are_not_entered(tmp_path: Path) -> None:
    for name in ("cache/keep", "src/cache", "src/x.tmp"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "y.tmp").write_bytes(b"")
    found, problems = walk(tmp_path, excludes=("/cache/", "*.tmp", "!x.tmp", "!/cache/keep"))
    assert paths(found) == [b"src", b"src/cache", b"src/x.tmp"]
    assert problems == [(ProblemKind.EXCLUDED, b"cache"), (ProblemKind.EXCLUDED, b"y.tmp")]


def test_root_status_is_of_the_opened_directory(tmp_path: Path) -> None:
    root = open_root(os.fsencode(tmp_path), frozenset())
    assert stat.S_ISDIR(root.status.st_mode)
    assert root.status.st_ino == tmp_path.stat().st_ino
    os.close(root.descriptor)
