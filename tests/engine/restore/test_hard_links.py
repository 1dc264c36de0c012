"""Hard links in a restore: joined with what is there, and each name complete by itself (2.2)."""

import os
from pathlib import Path

from tests.engine.repositories import back_up_tree, make_repository, restore_latest
from tests.engine.trees import assert_same, change, describe, pattern


def test_hard_links_join_what_is_there(tmp_path: Path) -> None:
    tree, out = tmp_path / "tree", tmp_path / "out"
    tree.mkdir()
    (tree / "a").write_bytes(pattern(5000))
    for name in ("b", "c"):
        os.link(tree / "a", tree / name)
    repository = make_repository()
    back_up_tree(repository, tree)
    before = describe(tree)
    restore_latest(repository, out)
    assert_same(before, describe(out))
    (out / "b").unlink()
    restore_latest(repository, out)
    del before[b"."]["mtime"]
    assert_same(before, describe(out), ignore=("mtime",))
    change(out / "a", b"edited", 2 * 10**18)
    result = restore_latest(repository, out)
    assert result.kept_paths[0] == b"a"
    assert (out / "a").read_bytes() == b"edited"


def test_a_hard_link_whose_first_name_was_kept_is_written_by_itself(tmp_path: Path) -> None:
    """2.2: every member carries its content."""
    tree, out = tmp_path / "tree", tmp_path / "out"
    tree.mkdir()
    out.mkdir()
    (tree / "a").write_bytes(pattern(5000))
    for name in ("b", "c"):
        os.link(tree / "a", tree / name)
    repository = make_repository()
    back_up_tree(repository, tree)
    (out / "a").write_bytes(b"mine")
    restore_latest(repository, out)
    assert (out / "a").read_bytes() == b"mine"
    assert (out / "b").read_bytes() == (out / "c").read_bytes() == pattern(5000)
    assert (out / "b").stat().st_ino == (out / "c").stat().st_ino


def test_a_part_with_one_name_of_a_hard_link(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_bytes(b"linked")
    os.link(tree / "a", tree / "b")
    repository = make_repository()
    back_up_tree(repository, tree, excludes=("a",))
    restore_latest(repository, tmp_path / "out", paths=(b"b",))
    assert (tmp_path / "out" / "b").read_bytes() == b"linked"


def test_a_part_with_some_names_links_those(tmp_path: Path) -> None:
    """Not the first one, and in different directories."""
    tree = tmp_path / "tree"
    for name in ("x", "y"):
        (tree / name).mkdir(parents=True)
    (tree / "a").write_bytes(pattern(5000))
    (tree / "link").symlink_to("somewhere")
    for name in ("x/b", "y/c", "y/d"):
        os.link(tree / "a", tree / name)
        os.link(tree / "link", tree / f"{name} link", follow_symlinks=False)
    repository = make_repository()
    back_up_tree(repository, tree)
    parts = (b"x/b", b"y/c", b"x/b link", b"y/c link")
    assert restore_latest(repository, tmp_path / "out", paths=parts, verify=True).exit_code == 0
    found = describe(tmp_path / "out")
    groups = {path: facts["group"] for path, facts in found.items() if "group" in facts}
    assert sorted(groups) == sorted(parts)
    assert groups[b"x/b"] == groups[b"y/c"] != groups[b"x/b link"] == groups[b"y/c link"]
    assert (tmp_path / "out" / "y" / "c").read_bytes() == pattern(5000)
    assert sorted(found) == [b".", b"x", b"x/b", b"x/b link", b"y", b"y/c", b"y/c link"]
