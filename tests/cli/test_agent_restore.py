"""syncova-agent restore: bit for bit, what is kept, what is damaged, and which backup is meant."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.process.spawn import child_environment
from tests.cli.programs import Ended, Programs, hostile_tree
from tests.tree_facts import facts


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = hostile_tree(tmp_path / "tree")
    (tree / "below" / "deeper").mkdir(parents=True)
    (tree / "below" / "file").write_bytes(os.urandom(3_000_000))
    (tree / "below" / "file").chmod(0o640)
    os.utime(tree / "below", ns=(1, 1_234_567_891_123_456_789))
    return tree


def restore(programs: Programs, *words: str | Path) -> Ended:
    target = programs.directory / "restored"
    return programs.agent("restore", "-r", programs.repository, "--target", target, *words)


def test_a_tree_comes_back_bit_for_bit_without_its_source(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """A17, 1.20: from repository and password alone."""
    programs.back_up(tree)
    before = facts(tree)
    tree.rename(tmp_path / "moved away")
    ended = restore(programs, "--backup", "latest", "--verify", "--json")
    assert ended.code == exits.DONE
    document = ended.json
    assert (document["state"], document["kept"], document["damaged"]) == ("restored", 0, 0)
    assert document["verified_files"] == document["files"] > 10
    assert facts(tmp_path / "restored") == before


def test_running_it_again_goes_on_and_keeps_what_differs(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """engine.md 7: identical counts as restored; others are kept, counted and named: exit 3."""
    programs.back_up(tree)
    restore(programs, "--backup", "latest")
    again = restore(programs, "--backup", "latest", "--json").json
    assert (again["files"], again["existing"] > 10, again["state"]) == (0, True, "restored")
    (tmp_path / "restored" / "below" / "file").write_text("mine")
    kept = restore(programs, "--backup", "latest", "--json")
    assert kept.code == exits.SKIPPED
    assert (kept.json["state"], kept.json["kept_paths"]) == ("partial", [{"path": "below/file"}])
    assert (tmp_path / "restored" / "below" / "file").read_text() == "mine"
    assert "below/file" in restore(programs, "--backup", "latest").out
    assert restore(programs, "--backup", "latest", "--overwrite", "always").code == exits.DONE
    assert facts(tmp_path / "restored") == facts(tree)


@pytest.mark.parametrize("option", ["--backup", "--at"])
def test_an_empty_name_is_not_the_latest_backup(programs: Programs, tree: Path, tmp_path: Path, option: str) -> None:
    """An unset variable in a script must not choose a backup."""
    programs.back_up(tree)
    ended = restore(programs, option, "", "--json")
    assert (ended.code, ended.json["error"]["message"]) == (exits.USAGE, f"{option} is empty")
    assert not (tmp_path / "restored").exists()


def test_the_backup_may_be_named_by_time_source_or_part(programs: Programs, tree: Path, tmp_path: Path) -> None:
    programs.back_up(tree, words=("--source", "one"))
    (tree / "later").write_text("later")
    programs.back_up(tree, words=("--source", "one"))
    programs.back_up(tree / "below", words=("--source", "two"))
    first, second, third = programs.repo("list", programs.repository, "--json").json["backups"]
    for words, expected in (
        (("--at", first["time"]), first),
        (("--at", third["time"], "--source", "one"), second),
        (("--backup", "latest"), third),
        (("--backup", "latest", "--source", "one"), second),
        (("--backup", first["short_id"]), first),
    ):
        target = tmp_path / expected["short_id"] / words[-1].replace(":", "")
        target.parent.mkdir(exist_ok=True)
        document = programs.agent("restore", "-r", programs.repository, "--target", target, *words, "--json").json
        assert document["backup_id"] == expected["id"], words
    assert f"of backup {third['short_id']} of two into" in restore(programs, "--backup", "latest").out
    assert f"backup {third['short_id']} of two, " in programs.repo("ls", programs.repository, "latest").err
    assert restore(programs, "--at", "2001-01-01", "--json").json["error"]["code"] == "BACKUP_NOT_FOUND"


def test_what_was_only_compared_by_size_and_time_is_told(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    restore(programs, "--backup", "latest")
    for words, told in (
        ((), "objects there already and identical, not written again"),
        (("--overwrite", "if-changed"), "content was not compared (see --verify)"),
    ):
        assert told in restore(programs, "--backup", "latest", *words).out
    compared = restore(programs, "--backup", "latest", "--overwrite", "if-changed", "--verify")
    assert "not compared" not in compared.out


def test_the_repository_is_no_target(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    words = ("--backup", "latest", "--target", programs.repository / "packs" / "new", "--json")
    ended = programs.agent("restore", "-r", programs.repository, *words)
    assert (ended.code, ended.json["error"]["code"]) == (exits.FAILED, "RESTORE_TARGET")
    assert not (programs.repository / "packs" / "new").exists()


def test_a_part_of_a_backup(programs: Programs, tree: Path, tmp_path: Path) -> None:
    programs.back_up(tree)
    for path in ("below/file", str(tree / "below" / "file")):
        assert restore(programs, "--backup", "latest", "--path", path).code == exits.DONE
    assert sorted(facts(tmp_path / "restored")) == [b"below", b"below/file"]
    hostile = os.fsdecode(b"invalid\xff\xfe")
    assert restore(programs, "--backup", "latest", "--path", hostile).code == exits.DONE
    for path in ("nothing", "../etc", "/etc/passwd"):
        ended = restore(programs, "--backup", "latest", "--path", path, "--json")
        assert ended.code == exits.USAGE
        ended.assert_harmless()


def test_a_flipped_byte_is_found_and_all_else_restored(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """engine.md 4: damaged files are left out and listed, exit 13."""
    programs.back_up(tree)
    flip_largest_pack(programs)
    ended = restore(programs, "--backup", "latest", "--json")
    assert ended.code == exits.INTEGRITY
    document = ended.json
    assert document["state"] == "damaged"
    assert document["damaged"] == len(document["damaged_paths"]) > 0
    damaged = {
        base64.b64decode(each.get("path_base64", "")) or each["path"].encode() for each in document["damaged_paths"]
    }
    expected = {path: fact for path, fact in facts(tree).items() if path not in damaged}
    assert facts(tmp_path / "restored") == expected
    restore(programs, "--backup", "latest").assert_harmless()


def flip_largest_pack(programs: Programs) -> None:
    packs = [path for path in (programs.repository / "packs").rglob("*") if path.is_file()]
    pack = max(packs, key=lambda path: path.stat().st_size)
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(data)


def test_hostile_names_are_told_harmlessly(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """1.22: kept names pass through the texts of restore too."""
    programs.back_up(tree)
    target = tmp_path / "\u202etarget\n[b]"
    for _ in range(2):
        for path in [*tree.iterdir(), *target.glob("*")]:
            if path.is_file() and not path.is_symlink():
                path.write_bytes(b"other")
        for words in ((), ("--json",)):
            ended = programs.agent(
                "restore", "-r", programs.repository, "--backup", "latest", "--target", target, *words
            )
            ended.assert_harmless()
    assert ended.json["kept"] > 10
    assert base64.b64decode(ended.json["target_base64"]) == os.fsencode(target)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--backup", "latest", "--overwrite", "perhaps"),
        ("--at", "yesterday"),
        ("--backup", "latest", "--bandwidth", "0"),
        ("--backup", "latest", "--progress", "loud"),
    ],
)
def test_what_makes_no_sense_ends_with_2(programs: Programs, words: tuple[str, ...], tmp_path: Path) -> None:
    assert restore(programs, *words, "--json").code == exits.USAGE
    assert not (tmp_path / "restored").exists()


def test_a_target_that_cannot_be_used(programs: Programs, tree: Path, tmp_path: Path) -> None:
    programs.back_up(tree)
    (tmp_path / "restored").write_text("a file")
    ended = restore(programs, "--backup", "latest", "--json")
    assert (ended.code, ended.json["error"]["code"]) == (exits.FAILED, "RESTORE_TARGET")
    assert programs.agent("restore", "-r", programs.repository, "--backup", "latest").code == exits.USAGE


def test_an_interrupted_restore_goes_on(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """engine.md 7: a broken-off restore is just run again."""
    programs.back_up(tree)
    words = ["--backup", "latest", "--target", str(tmp_path / "restored"), "--bandwidth", "1MB", "--progress", "json"]
    arguments = ["restore", "-r", str(programs.repository), "--password-file", str(programs.password_file), *words]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "agents.runtime", *arguments, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**child_environment(), "HOME": str(tmp_path)},
    ) as process:
        assert process.stderr
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == exits.INTERRUPTED
    error = json.loads(out)["error"]
    assert error["code"] == "INTERRUPTED"
    assert re.fullmatch(r"interrupted: the target holds at least \d+ files? of the backup", error["message"])
    assert "run it again to go on" in error["hint"]
    assert restore(programs, "--backup", "latest").code == exits.DONE
    assert facts(tmp_path / "restored") == facts(tree)


def test_a_partial_backup_says_what_it_lacks_itself(programs: Programs, tree: Path) -> None:
    """Whole as the restore is, the source had more."""
    programs.back_up(tree)
    assert restore(programs, "--backup", "latest", "--json").json["skipped_by_backup"] == 0
    for pack in (programs.repository / "packs").glob("*/*"):
        pack.chmod(0o600)
        pack.write_bytes(bytes(pack.stat().st_size))
    assert programs.back_up(tree, words=("--strict", "--json")).code == exits.SKIPPED
    (number,) = {
        backup["skipped"] for backup in programs.repo("list", programs.repository, "--json").json["backups"][-1:]
    }
    for words in ((), ("--dry-run",)):
        ended = restore(programs, "--backup", "latest", *words)
        assert f"the backup itself lacks {number} object" in ended.err
        assert "skipped when it was made" in ended.err
