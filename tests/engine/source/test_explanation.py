"""What explain tells is what a backup does, for every reason there is (2.8)."""

import contextlib
import ctypes
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from repositories.engine.errors import ConfigurationError
from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.repository import Repository
from repositories.engine.source.cache_tags import SIGNATURE, TAG
from repositories.engine.source.excludes import ExcludeRules
from repositories.engine.source.explanation import Verdict, explain
from repositories.engine.source.filesystems import FileSystems
from repositories.engine.source.root import identities
from repositories.engine.source.walker import WalkRules
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import AWKWARD_NAMES, IS_ROOT, add_socket, build_everything
from tests.engine.users import as_ordinary_user, in_a_child, let_others_through

LIBC = ctypes.CDLL(None, use_errno=True)
# What keeps all of a directory's contents out shows in no path where it has none, or where they cannot be listed.
_SEEN_FROM_ABOVE = {ProblemKind.CACHE_DIRECTORY, ProblemKind.PERMISSION}
CLONE_NEW_NAMESPACE, MS_PRIVATE_RECURSIVE = 0x00020000, 0x44000


def asked(root: Path, path: bytes | str, *rules: str, own: tuple[Path, ...] = (), **options: bool) -> Verdict:
    ignoring_case = options.pop("exclude_ignoring_case", False)
    one_file_system = options.pop("one_file_system", False)
    walk_rules = WalkRules(
        ExcludeRules(rules, ignoring_case=ignoring_case),
        one_file_system,
        identities(map(os.fsencode, own)),
        FileSystems(),
        **options,
    )
    return explain(os.fsencode(root), os.fsencode(path), walk_rules)


def everything_below(root: bytes) -> Iterator[bytes]:
    for base, directories, files in os.walk(root):
        for name in directories + files:
            yield os.path.relpath(os.path.join(base, name), root)


def assert_told_as_done(repository: Repository, root: Path, *rules: str, own: tuple[Path, ...] = ()) -> None:
    """Back `root` up with all options; fail where explain tells otherwise of any path below it."""
    options = {"exclude_caches": True, "one_file_system": True, "exclude_ignoring_case": True}
    skip = tuple(map(os.fsencode, own))
    result = back_up_tree(repository, root, excludes=rules, skip_paths=skip, **options)  # type: ignore[arg-type]
    held = {path for path, _ in walk_entries(repository, list_backups(repository)[-1])}
    told = {path: asked(root, path, *rules, own=own, **options) for path in everything_below(os.fsencode(root))}
    assert {path for path, verdict in told.items() if verdict.kind is None} == held
    assert all(verdict.exists for verdict in told.values())
    decided = {(verdict.kind, verdict.decided_at) for verdict in told.values() if verdict.kind is not None}
    counted = {count.kind: count.count for count in result.problem_counts}
    for kind in {kind for kind, _ in decided} - _SEEN_FROM_ABOVE:
        places = {at for each, at in decided if each is kind}
        assert len(places) == counted[str(kind)], (kind, places)


def test_a_tree_of_everything(tmp_path: Path) -> None:
    repository = make_repository()
    tree = tmp_path / "tree"
    build_everything(tree)
    add_socket(tree)
    (tree / "cache" / "below").mkdir(parents=True)
    (tree / "cache" / os.fsdecode(TAG)).write_bytes(SIGNATURE)
    (tree / "mine" / "packs").mkdir(parents=True)
    own = (tree / "mine",)
    assert_told_as_done(repository, tree, "Z*", "/links/", "!/links/1", "0*", "!/times/0", "*\\?", own=own)
    assert_told_as_done(repository, tree, own=own)


@pytest.mark.parametrize("seed", range(8))
def test_any_tree_and_rules(tmp_path: Path, seed: int) -> None:
    repository = make_repository()
    chance = random.Random(seed)
    tree = tmp_path / "tree"
    tree.mkdir()
    names = [*AWKWARD_NAMES[:6], b"a", b"B", b"ab", b"c.d", b"x y", b"]"]
    for _ in range(40):
        path = os.path.join(os.fsencode(tree), *(chance.choice(names) for _ in range(chance.randrange(4))))
        name = TAG if chance.random() < 0.08 else chance.choice(names)
        with contextlib.suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
            os.makedirs(path, exist_ok=True)
            Path(os.fsdecode(os.path.join(path, name))).write_bytes(SIGNATURE)
    parts = ["*", "a", "B", "?b", "**", "[a-c]*", "x\\ y", "*.D", "[!a]", "]"]
    rules = [
        chance.choice(["", "!", "/"]) + "/".join(chance.choice(parts) for _ in range(chance.randrange(1, 4))) + end
        for end in chance.choices(["", "", "/"], k=4)
    ]
    assert_told_as_done(repository, tree, *rules)


def test_each_reason_is_named(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "cache" / "deep").mkdir(parents=True)
    (tree / "cache" / os.fsdecode(TAG)).write_bytes(SIGNATURE)
    (tree / "own" / "packs").mkdir(parents=True)
    (tree / "d").mkdir()
    (tree / "d" / "x.tmp").touch()
    add_socket(tree)

    def told(path: str, *rules: str) -> tuple[ProblemKind | None, bytes, str | None]:
        found = asked(tree, path, *rules, own=(tree / "own",), exclude_caches=True)
        return found.kind, found.decided_at, found.rule.rule

    assert told("d/x.tmp", "*.tmp") == (ProblemKind.EXCLUDED, b"d/x.tmp", "*.tmp")
    assert told("d/x.tmp", "d", "!*.tmp") == (ProblemKind.EXCLUDED, b"d", "d")
    assert told("d/x.tmp", "*.tmp", "!x.*") == (None, b"d/x.tmp", "!x.*")
    assert told("d/x.tmp", "d/", "!d") == (None, b"d/x.tmp", None)
    assert told("cache/deep/x") == (ProblemKind.CACHE_DIRECTORY, b"cache", None)
    assert told("cache/CACHEDIR.TAG") == (None, b"cache/CACHEDIR.TAG", None)
    assert told("own") == (ProblemKind.OWN_DATA, b"own", None)
    assert told("own/packs") == (ProblemKind.OWN_DATA, b"own", None)
    assert told("socket") == (ProblemKind.SOCKET, b"socket", None)
    assert told(".") == (None, b"", None)
    assert asked(tree, "cache", exclude_caches=True).contents is ProblemKind.CACHE_DIRECTORY
    missing = asked(tree, "d/nothing.tmp", "*.tmp")
    assert (missing.kind, missing.exists) == (ProblemKind.EXCLUDED, False)
    assert (asked(tree, "nothing/", "*/").kind, asked(tree, "nothing", "*/").kind) == (ProblemKind.EXCLUDED, None)
    assert not asked(tmp_path / "nowhere", "x").exists
    assert asked(tree / "d" / "x.tmp", tree / "d" / "x.tmp", "*.tmp").kind is ProblemKind.EXCLUDED  # type: ignore[arg-type]
    for outside in (b"../x", b"/etc/passwd", b"d/../../x"):
        with pytest.raises(ConfigurationError, match="outside"):
            asked(tree, outside)
    with pytest.raises(ConfigurationError, match="own data"):
        asked(tree / "own", "packs", own=(tree / "own",))


def test_what_cannot_be_read_is_skipped_not_left_out(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "closed").mkdir(parents=True)
    (tree / "closed" / "x").touch()
    (tree / "closed").chmod(0)
    (tree / "secret").write_bytes(b"secret")
    (tree / "secret").chmod(0)
    (tree / "empty").touch(mode=0)
    let_others_through(tmp_path)

    def all_of_them() -> dict[str, Verdict]:
        assert_told_as_done(make_repository(), tree)
        return {path: asked(tree, path) for path in ("closed", "closed/x", "secret", "empty")}

    told = as_ordinary_user(all_of_them, tree)
    assert (told["secret"].kind, told["secret"].skipped) == (ProblemKind.PERMISSION, True)
    assert (told["closed/x"].kind, told["closed/x"].decided_at) == (ProblemKind.PERMISSION, b"closed")
    assert (told["closed"].kind, told["closed"].contents) == (None, ProblemKind.PERMISSION)
    assert told["empty"].kind is None


@pytest.mark.skipif(not IS_ROOT, reason="only root may mount")
def test_mounted_file_systems(tmp_path: Path) -> None:
    """Real ones: another file system is entered unless told not to, one that the kernel makes up never is."""
    tree = tmp_path / "tree"
    for name in ("disk", "kernel"):
        (tree / name).mkdir(parents=True)

    def run() -> dict[str, tuple[str | None, str]] | None:
        codes = (
            LIBC.unshare(CLONE_NEW_NAMESPACE),
            LIBC.mount(b"none", b"/", None, MS_PRIVATE_RECURSIVE, None),
            LIBC.mount(b"none", os.fsencode(tree / "disk"), b"tmpfs", 0, None),
            LIBC.mount(b"none", os.fsencode(tree / "kernel"), b"devpts", 0, None),
        )
        if codes != (0, 0, 0, 0):
            return None
        (tree / "disk" / "file").touch()
        assert_told_as_done(make_repository(), tree)
        found: dict[str, tuple[str | None, str]] = {}
        for path in ("disk", "disk/file", "kernel", "kernel/ptmx"):
            for one in (False, True):
                verdict = asked(tree, path, one_file_system=one)
                kind = verdict.kind or verdict.contents
                found[path + " one" * one] = None if kind is None else str(kind), os.fsdecode(verdict.decided_at)
        return found

    found = in_a_child(run)
    if found is None:
        pytest.skip("this root may not mount")
    assert found["disk"] == (None, "disk")
    assert found["disk/file"] == (None, "disk/file")
    assert found["disk/file one"] == ("other_file_system", "disk")
    assert found["disk one"] == ("other_file_system", "disk")
    assert found["kernel"] == ("pseudo_file_system", "kernel")
    assert found["kernel/ptmx"] == ("pseudo_file_system", "kernel")
    assert found["kernel/ptmx one"] == ("other_file_system", "kernel")
