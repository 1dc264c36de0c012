"""syncova-agent restore onto file systems that take less than the backup holds: what is told, and in which words."""

import errno
import os
from pathlib import Path

from repositories.console import exits
from tests.cli.programs import Programs
from tests.fuse import mounting, wire
from tests.fuse.mounting import mounted


def test_what_a_target_cannot_take_is_one_line_for_each_class(programs: Programs, tmp_path: Path) -> None:
    """2.3: with the file system, the reason and an example; in JSON as well."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("a", "b", "c:d"):
        (tree / name).write_text(name)
    os.mkfifo(tree / "fifo")
    programs.back_up(tree)
    faults = [
        {"op": "SETATTR", "errno": errno.EPERM, "fields": wire.MTIME},
        {"op": "MKNOD", "errno": errno.EPERM},
    ]
    with mounted(tmp_path / "small", faults=faults, refuses=":") as target:
        words = ("restore", "-r", programs.repository, "--backup", "latest", "--target")
        shown = programs.agent(*words, target.path / "one")
        told = programs.agent(*words, target.path / "two", "--json")
    assert shown.code == told.code == exits.SKIPPED
    where = f"on {target.path} ({mounting.TYPE})"
    for line in (
        f"1 FIFO could not be made {where}: Operation not permitted; it is fifo",
        f"1 name could not be given {where}: Invalid argument; it is c:d",
        f"the time of 3 objects could not be set {where}: Operation not permitted; one is ",
        "not restored: c:d: Invalid argument",
    ):
        assert line in shown.out + shown.err
    assert {(each["class"], each["count"]) for each in told.json["shortfalls"]} == {
        ("fifo", 1), ("name", 1), ("times", 3),
    }  # fmt: skip
    assert {(each["mount_point"], each["file_system"]) for each in told.json["shortfalls"]} == {
        (str(target.path), mounting.TYPE)
    }
    assert told.json["failed"] == 2


def test_names_that_collide_are_told(programs: Programs, tmp_path: Path) -> None:
    """2.10: each with the one that it collides with."""
    for name in ("A", "a"):
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / "file").write_text(name)
    programs.back_up(tmp_path / "tree")
    with mounted(tmp_path / "folding", folds=True) as target:
        words = ("restore", "-r", programs.repository, "--backup", "latest", "--target", target.path / "out")
        told = programs.agent(*words, "--json")
        shown = programs.agent(*words)
        assert (target.path / "out" / "A" / "file").read_text() == "A"
    assert told.code == shown.code == exits.SKIPPED
    assert (told.json["state"], told.json["collided"]) == ("partial", 2)
    assert told.json["collided_paths"] == [{"path": "a", "with": {"path": "A"}}]
    assert "not restored, the target takes its name for that of A: a" in shown.out
    assert "1 more" in shown.out
