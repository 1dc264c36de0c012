"""syncova-agent restore --in-place, --delete and --dry-run: what is shown, asked and told, and when nothing is done."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from repositories.console import exits
from repositories.engine.process.spawn import child_environment
from tests.cli.programs import Ended, Programs, hostile_tree
from tests.engine.trees import assert_same, describe

OVER = ("--overwrite", "if-changed")


@pytest.fixture
def tree(programs: Programs, tmp_path: Path) -> Path:
    """A tree that is backed up, and has lost something and gained something since."""
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / "below" / "lost").write_bytes(b"lost")
    (tree / "changed").write_bytes(b"backed up")
    (tree / "same").write_bytes(b"same")
    programs.back_up(tree)
    (tree / "below" / "lost").unlink()
    (tree / "changed").write_bytes(b"changed since")
    (tree / "gained").mkdir()
    (tree / "gained" / "file").write_bytes(b"gained")
    return tree


def restore(programs: Programs, *words: str | Path) -> Ended:
    return programs.agent("restore", "-r", programs.repository, "--backup", "latest", *words)


def test_a_dry_run_lists_and_changes_nothing(programs: Programs, tree: Path) -> None:
    before = describe(tree)
    told = restore(programs, "--in-place", *OVER, "--delete", "--dry-run")
    assert told.code == exits.DONE
    for line in (
        f"into {tree}: 1 to make (4 B), 1 to replace (9 B), 2 there already, 0 to keep",
        "would be made: below/lost", "would be replaced: changed", "deleting looks into", "all of it",
        "to delete: 2 objects, 6 B", "to delete: gained (with 1 in it)", "nothing was changed",
    ):  # fmt: skip
        assert line in told.out
    document = restore(programs, "--in-place", *OVER, "--delete", "-n", "--json").json
    assert (document["state"], document["created"], document["replaced"], document["kept"]) == ("planned", 1, 1, 0)
    assert document["deletion"]["deleted_paths"] == [{"path": "gained", "objects": 2}]
    assert document["deletion"]["scope"] == [{"path": "."}]
    keeping = restore(programs, "--target", tree, "--dry-run", "--json")
    assert (keeping.code, keeping.json["state"]) == (exits.SKIPPED, "planned"), "as the restore would end"
    assert (keeping.json["kept_paths"], keeping.json["deletion"]) == ([{"path": "changed"}], None)
    assert describe(tree) == before


def test_a_dry_run_needs_no_target(programs: Programs, tree: Path, tmp_path: Path) -> None:
    told = restore(programs, "--target", tmp_path / "none" / "yet", "--dry-run", "--json")
    assert (told.code, told.json["created"]) == (exits.DONE, 4)
    assert not (tmp_path / "none").exists()


def test_without_a_terminal_deleting_needs_yes(programs: Programs, tree: Path) -> None:
    before = describe(tree)
    ended = restore(programs, "--in-place", *OVER, "--delete", "--json")
    assert ended.code == exits.USAGE
    assert ended.json["error"]["code"] == "NOT_AGREED"
    assert ended.json["plan"]["deletion"]["deleted"] == 2, "the plan is told nevertheless"
    plain = restore(programs, "--in-place", *OVER, "--delete")
    assert plain.code == exits.USAGE
    assert "to delete: gained (with 1 in it)" in plain.out
    assert describe(tree) == before


def test_with_yes_the_plan_is_shown_and_carried_out(programs: Programs, tree: Path, tmp_path: Path) -> None:
    ended = restore(programs, "--in-place", *OVER, "--delete", "--yes", "--verify", "--json")
    assert ended.code == exits.DONE
    document = ended.json
    assert document["plan"]["deletion"] == document["deletion"]
    assert (document["files"], document["verified_files"], document["deletion"]["deleted"]) == (2, 3, 2)
    restore(programs, "--target", tmp_path / "restored")
    assert_same(describe(tmp_path / "restored"), describe(tree))
    again = restore(programs, "--in-place", *OVER, "--delete")
    assert again.code == exits.DONE, "where nothing is to be deleted, nobody is asked"
    assert "deleted: 0 objects" in again.out


def test_only_a_part_in_place(programs: Programs, tree: Path) -> None:
    ended = restore(programs, "--in-place", "--path", tree / "below", "--path", "gained/../same")
    assert ended.code == exits.USAGE
    assert restore(programs, "--in-place", "--path", tree / "below").code == exits.DONE
    assert (tree / "below" / "lost").read_bytes() == b"lost"
    assert (tree / "changed").read_bytes() == b"changed since"
    ended = restore(programs, "--in-place", "--path", "below", *OVER, "--delete")
    assert (ended.code, (tree / "gained").exists()) == (exits.DONE, True)
    assert f"deleting looks into {tree}: below" in ended.out


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", exits.DONE), (b"n\n", exits.USAGE), (b"\x04", exits.USAGE)])
def test_on_a_terminal_it_asks(programs: Programs, tree: Path, answer: bytes, code: int) -> None:
    before = describe(tree)
    master, slave = pty.openpty()
    words = ["restore", "-r", str(programs.repository), "--backup", "latest", "--in-place", *OVER, "--delete"]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "agents.runtime", *words, "--password-file", str(programs.password_file)],
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**child_environment(), "HOME": str(tree.parent)},
    ) as process:
        os.close(slave)
        asked = b""
        while b"[y/N]" not in asked:
            asked += os.read(master, 1000)
        assert process.stdout
        assert b"to delete: gained (with 1 in it)" in os.read(process.stdout.fileno(), 10_000), "shown before it asks"
        assert describe(tree) == before
        os.write(master, answer)
        process.stdout.read()
        assert process.wait(60) == code
    os.close(master)
    assert b"Delete 2 objects of" in asked
    assert (describe(tree) == before) == (code != exits.DONE)
    assert (tree / "gained").exists() == (code != exits.DONE)


def test_the_backup_of_another_host_has_no_place_here(
    programs: Programs, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename="elsewhere"))
    ended = restore(programs, "--in-place", "--json")
    assert (ended.code, ended.json["error"]["code"]) == (exits.FAILED, "RESTORE_TARGET")
    assert f"--target {tree}" in ended.json["error"]["hint"]
    assert not (tree / "below" / "lost").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "x", "--in-place"), "exclude each other"),
        (("--in-place", "--delete"), "--overwrite never"),
        (("--target", "x", "--delete", "--overwrite", "never"), "--overwrite never"),
    ],
)
def test_options_that_exclude_each_other(programs: Programs, words: tuple[str, ...], said: str) -> None:
    ended = restore(programs, *words, "--json")
    assert ended.code == exits.USAGE
    assert said in ended.json["error"]["message"]


def test_hostile_names_are_shown_harmlessly(programs: Programs, tmp_path: Path) -> None:
    tree = hostile_tree(tmp_path / "hostile")
    programs.back_up(tree)
    for path in tree.iterdir():
        if path.is_file() and not path.is_symlink():
            path.write_bytes(b"changed")
    hostile_tree(tree / "more")
    for words in (("--dry-run",), ("--json",), ("--yes",)):
        ended = restore(programs, "--in-place", *OVER, "--delete", *words)
        ended.assert_harmless()
        if "--json" in words:
            json.loads(ended.out)
    assert not (tree / "more").exists()
