"""What each command tells of a repository that shows an earlier state: once, and in the one object of --json (3.14)."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from repositories.console import exits
from tests.cli.keys import key
from tests.cli.programs import Ended, Programs

pytestmark = pytest.mark.usefixtures("cheap_keys")

EARLIER = "the repository shows an earlier state than before"


@pytest.fixture
def tree(programs: Programs, tmp_path: Path) -> Path:
    """Return a tree that was backed up twice; the repository is as it was in between."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(b"content")
    assert programs.back_up(tree, words=("--source", "home")).code == exits.DONE
    shutil.copytree(programs.repository, tmp_path / "older")
    assert programs.back_up(tree, words=("--source", "home")).code == exits.DONE
    shutil.rmtree(programs.repository)
    (tmp_path / "older").rename(programs.repository)
    return tree


def require_warned(ended: Ended) -> None:
    """It went on, and one line says why that may be too little, on stderr and in the object."""
    (told,) = ended.json["warned"]
    assert told.startswith(EARLIER)
    assert ended.err.count(EARLIER) == 1


def test_whoever_looks_is_warned_in_the_object_too(programs: Programs, tree: Path) -> None:
    """By a command that prints its object at once, by one that spools a list, and by one in a child."""
    for verb, *words in (
        ("list",),
        ("show", "latest", "--all-problems"),
        ("ls", "latest"),
        ("find", "file"),
        ("diff", "latest", "latest"),
        ("info",),
        ("stats",),
        ("locks",),
        ("forget", "--keep-last", "1", "--dry-run"),
        ("prune", "--dry-run"),
    ):
        ended = programs.repo(verb, programs.repository, *words, "--json")
        assert ended.code == exits.DONE, (verb, ended)
        require_warned(ended)
    require_warned(key(programs, "list", programs.repository, "--json"))
    for verb in ("check", "repair"):
        ended = programs.repo(verb, programs.repository, *(["--dry-run"] if verb == "repair" else []), "--json")
        assert ended.code == exits.INTEGRITY, (verb, ended)
        require_warned(ended)


def test_a_restore_and_a_dry_run_of_a_backup_go_on_with_the_warning(
    programs: Programs, tree: Path, tmp_path: Path
) -> None:
    words = ("-r", str(programs.repository), "--backup", "latest", "--target", str(tmp_path / "target"), "--json")
    restored = programs.agent("restore", *words)
    assert (restored.code, restored.json["files"]) == (exits.DONE, 1)
    require_warned(restored)
    require_warned(programs.back_up(tree, words=("--source", "home", "--dry-run", "--json")))


def test_what_is_not_warned_of_has_no_field(programs: Programs, tree: Path) -> None:
    assert programs.repo("check", programs.repository, "--accept-rollback").code == exits.DONE
    assert "warned" not in programs.repo("list", programs.repository, "--json").json


def test_a_refused_command_says_it_once(programs: Programs, tree: Path) -> None:
    """As the error: a warning before it would be the same sentence."""
    for verb, *words in (
        ("prune",),
        ("repair",),
        ("repair", "--remove-aside", "--yes"),
        ("forget", "--keep-last", "1", "--yes"),
        ("undelete", "--all"),
        ("tag", "latest", "--add", "x"),
        ("hold", "latest", "--reason", "x"),
    ):
        require_refused_once(programs.repo(verb, programs.repository, *words, "--json"))
    require_refused_once(programs.back_up(tree, words=("--source", "home", "--json")))


def require_refused_once(ended: Ended) -> None:
    assert (ended.code, ended.json["error"]["code"]) == (exits.FAILED, "REPOSITORY_ROLLED_BACK")
    assert ended.err.count(EARLIER) == 1
    assert "warned" not in ended.json


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return where this machine remembers repositories."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def made(programs: Programs, tree: Path, *sources: str) -> list[dict[str, Any]]:
    """Back up a tree once for each name; return what list says of all, oldest first."""
    for source in sources:
        assert programs.back_up(tree, words=("--source", source)).code == exits.DONE
    backups: list[dict[str, Any]] = programs.repo("list", programs.repository, "--json").json["backups"]
    return backups


def withhold(programs: Programs, backup: dict[str, Any]) -> None:
    for place in (programs.repository, programs.repository / "copies"):
        (place / "manifests" / backup["manifest_id"]).unlink()


def small_tree(directory: Path) -> Path:
    (directory / "small").mkdir()
    (directory / "small" / "file").write_bytes(b"content")
    return directory / "small"


def test_withheld_backups_are_told_by_source_time_and_short_id(programs: Programs, state: Path, tmp_path: Path) -> None:
    """3.14: a manifest's id says nothing to whoever has to look for the backup elsewhere. The newest comes first."""
    backups = made(programs, small_tree(tmp_path), "home", "archive", "home")
    for backup in backups[1:]:
        withhold(programs, backup)
    (told,) = programs.repo("list", programs.repository, "--json").json["warned"]
    assert "2 backups that were seen here are neither there nor deleted" in told
    named = [f"{each['short_id']} of {each['source']} of " for each in reversed(backups[1:])]
    assert -1 < told.index(named[0]) < told.index(named[1])
    assert all(each["manifest_id"] in told for each in backups[1:])


def test_a_memory_of_an_earlier_version_is_added_to(programs: Programs, state: Path, tmp_path: Path) -> None:
    """It knows backups by the ids of their manifests alone, until the next look at a repository that is whole."""
    backups = made(programs, small_tree(tmp_path), "home", "home")
    (path,) = (each for each in state.rglob("*.json") if each.is_file())
    kept = json.loads(path.read_bytes())
    assert [each["short_id"] for each in kept.pop("backups")] == [each["short_id"] for each in backups]
    path.write_text(json.dumps(kept))
    older = os.fspath(shutil.copytree(programs.repository, tmp_path / "kept"))
    withhold(programs, backups[1])
    (told,) = programs.repo("list", programs.repository, "--json").json["warned"]
    assert f"manifest {backups[1]['manifest_id']}" in told
    assert backups[1]["short_id"] not in told
    shutil.rmtree(programs.repository)
    shutil.copytree(older, programs.repository)
    assert "warned" not in programs.repo("list", programs.repository, "--json").json
    withhold(programs, backups[1])
    assert f"{backups[1]['short_id']} of home of " in programs.repo("list", programs.repository).err
