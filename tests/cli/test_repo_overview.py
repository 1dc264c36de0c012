"""syncova-repo stats and locks, as they are typed (3.7)."""

import os
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import Programs, hostile_tree
from tests.engine.repositories import PASSWORD


def opened(programs: Programs) -> Repository:
    return open_repository(LocalStorage(str(programs.repository)), PASSWORD)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    (path / "file").write_bytes(os.urandom(200_000))
    return path


def test_stats(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    programs.back_up(tree)
    shown = programs.repo("stats", programs.repository, "--backups")
    assert shown.code == exits.DONE
    assert "2 of 1 source" in shown.out
    assert "deduplication 2." in shown.out or "deduplication 1.9" in shown.out
    found = programs.repo("stats", programs.repository, "--json").json
    assert found["logical_bytes"] == 400_000
    assert 200_000 < found["content_bytes"] < 203_000
    (source,) = found["sources"]
    assert source["unique_bytes"] == found["used_bytes"]
    assert [each["unique_bytes"] < 3000 for each in found["backups"]] == [True, True]


def test_stats_of_an_empty_repository_and_of_a_tiny_backup(programs: Programs, tmp_path: Path) -> None:
    """Nothing is called a saving where lists and seals are more than what is saved."""
    empty = programs.repo("stats", programs.repository)
    assert (empty.code, empty.err) == (exits.DONE, "")
    assert empty.out.splitlines()[0].split() == ["backups", "none"]
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "file").write_bytes(b"x")
    programs.back_up(tmp_path / "tiny")
    tiny = programs.repo("stats", programs.repository).out
    assert "1 of 1 source" in tiny
    for text in (empty.out, tiny):
        assert " : 1" not in text


def test_what_forgetting_frees(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    programs.back_up(tree)
    first, second = programs.repo("list", programs.repository, "--json").json["backups"]
    one = programs.repo("stats", programs.repository, first["short_id"])
    assert one.out.startswith("forgetting 1 backup frees about ")
    both = programs.repo("stats", programs.repository, first["short_id"], second["short_id"], "--json").json
    assert both["chosen"]["unique_bytes"] == both["used_bytes"] > 200_000
    source = programs.repo("stats", programs.repository, "--source", first["source"], "--json").json
    assert source["chosen"] == both["chosen"]
    missing = programs.repo("stats", programs.repository, "--source", "nobody")
    assert missing.code == exits.FAILED
    assert "nobody" in missing.err


def test_stats_of_a_damaged_repository(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    packs = [path for path in (programs.repository / "packs").rglob("*") if path.is_file()]
    min(packs, key=lambda path: path.stat().st_size).unlink()
    ended = programs.repo("stats", programs.repository)
    assert ended.code == exits.INTEGRITY
    assert "run check" in ended.err


def test_hostile_names(programs: Programs, tmp_path: Path) -> None:
    programs.back_up(hostile_tree(tmp_path / "bad"), words=("--source", "\x1b[31mred\u202e"))
    programs.repo("stats", programs.repository, "--backups").assert_harmless()


def test_locks(programs: Programs) -> None:
    free = programs.repo("locks", programs.repository)
    assert (free.code, free.out) == (exits.DONE, "nobody works on this repository\n")
    assert programs.repo("locks", programs.repository, "--json").json == {"sessions": []}


def test_locks_of_the_living(programs: Programs) -> None:
    with opened(programs).begin_write():
        shown = programs.repo("locks", programs.repository)
        (session,) = programs.repo("locks", programs.repository, "--watch", "--json").json["sessions"]
    assert "its process runs on this machine" in shown.out
    assert (session["purpose"], session["state"], session["pid"]) == ("write", "alive", os.getpid())
