"""With a lost inventory what the newest keys have sealed is listed and restored, and nothing older (3.5, 3.9)."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from repositories.console import exits
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.records import encode
from repositories.engine.keychain import rotate
from repositories.engine.repository import open_repository
from repositories.engine.sessions.taking_back import put_manifest
from repositories.engine.storage.local import LocalStorage
from tests.cli.keys import key
from tests.cli.programs import Ended, Programs
from tests.engine.keychain.chains import keychain
from tests.engine.repositories import PASSWORD
from tests.engine.trees import pattern

OLD, NEW = pattern(300_000, 1), pattern(200_000, 2)


@pytest.fixture
def backups(programs: Programs, tmp_path: Path) -> list[dict[str, Any]]:
    """Return a backup from before a rotation and one from after it; the inventory is lost since.

    Somebody who has kept the old keys has put the older one's root once more, as if it were the newest.
    """
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "old").write_bytes(OLD)
    assert programs.back_up(tree, words=("--source", "home")).code == exits.DONE
    kept = open_repository(LocalStorage(str(programs.repository)), PASSWORD)
    rotate(keychain(LocalStorage(str(programs.repository))), [PASSWORD])
    (tree / "new").write_bytes(NEW)
    assert programs.back_up(tree, words=("--source", "home")).code == exits.DONE
    backups: list[dict[str, Any]] = programs.repo("list", programs.repository, "--json").json["backups"]
    (old,) = kept.backups()
    put_manifest(kept.store, encode(ManifestRecord(0, old.received_ns * 2, 1, bytes(16), old.root)), 1)
    for place in (programs.repository, programs.repository / "copies"):
        shutil.move(place / "inventories", tmp_path / f"lost from {place.name}")
    return backups


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def restore(programs: Programs, target: Path, *words: str) -> Ended:
    return programs.agent("restore", "-r", programs.repository, "--target", target, *words, "--json")


def require_warned(ended: Ended) -> None:
    assert any("both copies of" in told and "from a forgery" in told for told in ended.json["warned"])
    assert "what is older is left out" in ended.err


def test_what_came_since_is_listed(programs: Programs, backups: list[dict[str, Any]]) -> None:
    ended = programs.repo("list", programs.repository, "--json")
    assert (ended.code, ended.json["inventory_lost"]) == (exits.INTEGRITY, True)
    assert [each["id"] for each in ended.json["backups"]] == [backups[1]["id"]]
    require_warned(ended)


def test_what_came_since_is_restored_whole(programs: Programs, backups: list[dict[str, Any]], tmp_path: Path) -> None:
    """Its older contents too: whoever sealed a pack, a chunk is hashed again, and only the newest key named its id."""
    for number, name in enumerate(("latest", backups[1]["short_id"])):
        target = tmp_path / f"target{number}"
        ended = restore(programs, target, "--backup", name)
        assert (ended.code, ended.json["state"], ended.json["damaged"]) == (exits.SKIPPED, "partial", 0)
        assert (ended.json["backup_id"], ended.json["inventory_lost"]) == (backups[1]["id"], True)
        assert ((target / "old").read_bytes(), (target / "new").read_bytes()) == (OLD, NEW)
        require_warned(ended)


def test_what_may_be_older_is_not_said_to_be_absent(
    programs: Programs, backups: list[dict[str, Any]], tmp_path: Path
) -> None:
    for words in (("--backup", backups[0]["id"]), ("--backup", "latest", "--source", "other")):
        refused = restore(programs, tmp_path / "target", *words)
        assert (refused.code, refused.json["error"]["code"]) == (exits.INTEGRITY, "INVENTORY_LOST")
    assert not (tmp_path / "target").exists()


LOOKS = (
    ("show", "latest"),
    ("show", "latest", "--all-problems"),
    ("ls", "latest"),
    ("ls", "latest", "--recursive"),
    ("find", "old", "new"),
    ("diff", "latest", "latest"),
    ("info",),
    ("stats",),
    ("locks",),
)


def test_whoever_looks_sees_what_came_since(programs: Programs, backups: list[dict[str, Any]]) -> None:
    """With the exit code and the warning of `list`: what is not shown may be there."""
    before = contents(programs.repository)
    for verb, *words in LOOKS:
        ended = programs.repo(verb, programs.repository, *words, "--json")
        assert (ended.code, ended.json["inventory_lost"]) == (exits.INTEGRITY, True), (verb, ended)
        require_warned(ended)
        told = ended.json.get("backup", ended.json.get("after"))
        assert told is None or told["id"] == backups[1]["id"]
        assert backups[0]["short_id"] not in ended.out
    keys = key(programs, "list", programs.repository, "--json")
    assert (keys.code, len(keys.json["keys"]), keys.json["inventory_lost"]) == (exits.INTEGRITY, 1, True)
    assert programs.repo("ls", programs.repository, "latest").out == "new\nold\n"
    assert programs.repo("info", programs.repository, "--json").json["backups"] == 1
    assert contents(programs.repository) == before


def test_what_came_since_is_dumped_whole(programs: Programs, backups: list[dict[str, Any]], tmp_path: Path) -> None:
    for name, content in (("old", OLD), ("new", NEW)):
        target = tmp_path / f"{name} dumped"
        ended = programs.repo("dump", programs.repository, "latest", name, "--output", target, "--json")
        assert (ended.code, ended.json["damaged"], ended.json["inventory_lost"]) == (exits.INTEGRITY, 0, True)
        assert target.read_bytes() == content
        require_warned(ended)


def test_whoever_looks_for_an_older_one_is_not_told_that_it_is_absent(
    programs: Programs, backups: list[dict[str, Any]], tmp_path: Path
) -> None:
    old, output = backups[0]["id"], str(tmp_path / "output")
    for words in (
        ("show", old),
        ("ls", old),
        ("find", "*", "--backup", old),
        ("diff", old, "latest"),
        ("dump", old, "old", "--output", output),
        ("stats", old),
        ("stats", "--source", "other"),
        ("show", "latest", "--source", "other"),
    ):
        require_refused(programs.repo(words[0], "-r", programs.repository, *words[1:], "--json"))


def test_a_dry_repair_tells_what_is_wrong_and_changes_nothing(
    programs: Programs, backups: list[dict[str, Any]]
) -> None:
    before = contents(programs.repository)
    ended = programs.repo("repair", programs.repository, "--dry-run", "--json")
    assert (ended.code, ended.json["check"]["backups"]) == (exits.INTEGRITY, 1)
    assert "inventory" in {each["kind"] for each in ended.json["check"]["problems"]}
    assert {each["kind"] for each in ended.json["steps"]} <= {"index"}
    assert ended.json["check"]["hurt_backups"] == []
    require_warned(ended)
    assert contents(programs.repository) == before


def test_nobody_writes(programs: Programs, backups: list[dict[str, Any]], tmp_path: Path) -> None:
    """A prune would take all that is older for unused."""
    before = contents(programs.repository)
    for verb, *words in (
        ("repair",),
        ("prune",),
        ("prune", "--dry-run"),
        ("forget", "--keep-last", "1", "--yes"),
        ("tag", "latest", "--add", "x"),
    ):
        require_refused(programs.repo(verb, programs.repository, *words, "--json"))
    require_refused(programs.back_up(tmp_path / "tree", words=("--source", "home", "--json")))
    assert contents(programs.repository) == before


def require_refused(ended: Ended) -> None:
    assert (ended.code, ended.json["error"]["code"]) == (exits.INTEGRITY, "INVENTORY_LOST")


def test_all_is_there_again_with_the_inventory(
    programs: Programs, backups: list[dict[str, Any]], tmp_path: Path
) -> None:
    """What was left of it in between is remembered by nobody."""
    assert programs.repo("check", programs.repository, "--json").json["hint"].startswith("bring the inventory back")
    for place in (programs.repository, programs.repository / "copies"):
        shutil.move(tmp_path / f"lost from {place.name}", place / "inventories")
    listed = programs.repo("list", programs.repository, "--json")
    assert (listed.code, [each["id"] for each in listed.json["backups"]]) == (exits.DONE, [x["id"] for x in backups])
    assert "warned" not in listed.json
