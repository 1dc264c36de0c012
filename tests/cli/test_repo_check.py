"""syncova-repo check: what is unharmed, what is not, and what that means for the backups."""

import os
import shutil
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.keychain import rotate
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import Programs
from tests.engine.keychain.chains import keychain
from tests.engine.repositories import PASSWORD


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    (path / "file").write_bytes(os.urandom(200_000))
    return path


@pytest.mark.parametrize("words", [(), ("--read-data",)])
def test_a_whole_repository(programs: Programs, tree: Path, words: tuple[str, ...]) -> None:
    programs.back_up(tree)
    ended = programs.repo("check", programs.repository, *words, "--json")
    assert ended.code == exits.DONE
    report = ended.json
    assert (report["ok"], report["backups"], report["problems"], report["problem_count"]) == (True, 1, [], 0)
    assert bool(report["bytes_read"]) is bool(words)
    shown = programs.repo("check", programs.repository, *words)
    assert shown.out.startswith("no problems found")
    assert shown.err == ""


def test_a_flipped_byte_is_found_by_reading(programs: Programs, tree: Path) -> None:
    """design.md 4: 13 integrity; the backups that it hurts are named."""
    programs.back_up(tree)
    pack = max(packs(programs), key=lambda path: path.stat().st_size)
    data = bytearray(pack.read_bytes())
    data[1000] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(data)
    ended = programs.repo("check", programs.repository, "--read-data", "--json")
    assert ended.code == exits.INTEGRITY
    report = ended.json
    assert not report["ok"]
    assert report["problem_count"] >= 1
    (hurt,) = report["hurt_backups"]
    assert hurt["paths"] == ["file"]
    shown = programs.repo("check", programs.repository, "--read-data")
    assert shown.code == exits.INTEGRITY
    shown.assert_harmless()
    assert pack.name in shown.out
    assert "remembered" in shown.err


def test_a_missing_pack_is_found_without_reading(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    max(packs(programs), key=lambda path: path.stat().st_size).unlink()
    ended = programs.repo("check", programs.repository, "--json")
    assert ended.code == exits.INTEGRITY
    assert [hurt["paths"] for hurt in ended.json["hurt_backups"]] == [["file"]]


def test_a_damaged_copy_is_found_and_harms_nothing(programs: Programs, tree: Path) -> None:
    """engine.md 2: what is written twice is read from either; check reads both."""
    programs.back_up(tree)
    (copy,) = (programs.repository / "copies" / "manifests").iterdir()
    copy.chmod(0o600)
    copy.write_bytes(b"damaged")
    assert programs.repo("list", programs.repository).code == exits.DONE
    ended = programs.repo("check", programs.repository, "--json")
    assert ended.code == exits.INTEGRITY
    assert ended.json["hurt_backups"] == []


def packs(programs: Programs) -> list[Path]:
    return [path for path in (programs.repository / "packs").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "words", [("--read-data=100%",), ("--read-data-subset", "100%"), ("--read-data-subset=100 %",)]
)
def test_a_part_of_the_data(programs: Programs, tree: Path, words: tuple[str, ...]) -> None:
    programs.back_up(tree)
    proof = programs.repo("check", *words, programs.repository, "--json").json["proof"]
    assert (proof["unread_packs"], proof["verified_packs"]) == (0, proof["packs"])
    shown = programs.repo("check", programs.repository)
    assert "(100%), the oldest part of it read at 20" in shown.out


@pytest.mark.parametrize(
    "words",
    [
        ("--read-data=0%",),
        ("--read-data=101%",),
        ("--read-data=10",),
        ("--max-duration", "30m"),
        ("--read-data", "--max-duration", "30"),
        ("--read-data", "--max-duration", "0m"),
        ("--read-data=50%", "--read-data-subset", "10%"),
        ("--read-data-subset=10%", "--read-data=50%"),
    ],
)
def test_parts_and_times_that_make_no_sense(programs: Programs, words: tuple[str, ...]) -> None:
    ended = programs.repo("check", programs.repository, *words)
    assert ended.code == exits.USAGE
    ended.assert_harmless()


def test_what_was_not_read_is_told(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    shown = programs.repo("check", programs.repository, "--read-data=0.001%", "--max-duration", "1h30m")
    assert shown.code == exits.DONE
    assert "not read now: 1 pack" in shown.out
    assert "never read yet: 1 pack" in shown.out


def test_what_a_check_of_the_structure_did_not_read_is_told(programs: Programs, tree: Path) -> None:
    """3.1: every output says it, as text and as JSON."""
    programs.back_up(tree)
    shown = programs.repo("check", programs.repository)
    assert "structure only" in shown.out
    assert "not read now: 2 packs" in shown.out
    assert "never read yet: 2 packs" in shown.out
    proof = programs.repo("check", programs.repository, "--json").json["proof"]
    assert (proof["unread_packs"], proof["never_verified_packs"], proof["read_packs"]) == (2, 2, 0)


def test_what_lies_beside_is_counted_and_explained(programs: Programs, tree: Path) -> None:
    """Ended keys, what a repair set aside, files of others, packs in no index: each with what it means."""
    programs.back_up(tree)
    rotate(keychain(LocalStorage(str(programs.repository))), [PASSWORD])
    (programs.repository / "aside" / "packs").mkdir(parents=True)
    (programs.repository / "aside" / "packs" / ("a" * 32)).write_bytes(bytes(100))
    (programs.repository / "notes\x1b[31m.txt").write_bytes(b"mine")
    stray = programs.repository / "packs" / "ab" / ("ab" + "0" * 30)
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(bytes(50))
    ended = programs.repo("check", programs.repository, "--json")
    assert ended.code == exits.DONE
    report = ended.json
    assert (report["aside_objects"], report["aside_bytes"], report["strays"]) == (1, 100, 1)
    assert (report["unreferenced_packs"], report["unreferenced_bytes"], report["late_backups"]) == (1, 50, 0)
    assert (report["retired_packs"], report["disowned_objects"]) == (2, 0)
    assert report["retired_objects"] >= 2
    shown = programs.repo("check", programs.repository)
    shown.assert_harmless()
    meanings = (
        "1 pack (50 B) in no index",
        "2 packs",
        "syncova-repo prune",
        "repair --remove-aside",
        "none of Syncova's",
    )
    assert [told for told in meanings if told not in shown.out + shown.err] == []


def test_an_older_copy_put_back_is_read_only_until_it_is_confirmed(
    programs: Programs, tree: Path, tmp_path: Path
) -> None:
    """engine.md 5: a remembered state that is higher than what is there: REPOSITORY_ROLLED_BACK."""
    programs.back_up(tree)
    shutil.copytree(programs.repository, tmp_path / "older")
    programs.back_up(tree)
    shutil.rmtree(programs.repository)
    (tmp_path / "older").rename(programs.repository)
    refused = programs.agent("backup", "-r", programs.repository, "--path", str(tree), "--json")
    assert refused.code == exits.FAILED
    assert refused.json["error"]["code"] == "REPOSITORY_ROLLED_BACK"
    listed = programs.repo("list", programs.repository)
    assert listed.code == exits.DONE
    assert "earlier state" in listed.err
    report = programs.repo("check", programs.repository, "--json")
    assert (report.code, [each["kind"] for each in report.json["problems"]]) == (exits.INTEGRITY, ["rollback"])
    assert programs.repo("check", programs.repository, "--accept-rollback").code == exits.DONE
    assert programs.back_up(tree).code == exits.DONE


def test_a_lost_inventory_is_damage_with_a_step_that_helps(programs: Programs, tree: Path) -> None:
    """What the newest keys have sealed is checked and looked at all the same; who changes something is refused, and
    nothing says: run check.
    """
    programs.back_up(tree)
    rotate(keychain(LocalStorage(str(programs.repository))), [PASSWORD])
    for place in (programs.repository, programs.repository / "copies"):
        shutil.rmtree(place / "inventories")
    ended = programs.repo("check", programs.repository, "--json")
    assert (ended.code, [each["kind"] for each in ended.json["problems"]]) == (exits.INTEGRITY, ["inventory"])
    assert ended.json["hint"].startswith("bring the inventory back from a copy")
    assert (ended.json["backups"], ended.json["disowned_objects"], ended.json["passed_by_objects"]) == (0, 0, 0)
    for verb in ("repair", "prune"):
        refused = programs.repo(verb, programs.repository, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (exits.INTEGRITY, "INVENTORY_LOST")
        assert "from a copy" in refused.json["error"]["hint"]
    assert programs.repo("stats", programs.repository, "--json").code == exits.INTEGRITY
