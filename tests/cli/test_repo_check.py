"""syncova-repo check: what is unharmed, what is not, and what that means for the backups."""

import os
import shutil
from pathlib import Path

import pytest

from repositories.console import exits
from tests.cli.programs import Programs


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
