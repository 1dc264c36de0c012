"""`forget`, `undelete`, `tag` and `hold` as a person and a script use them (3.3)."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.programs import Ended, Programs


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    (path / "file").write_bytes(b"content")
    return path


def make(programs: Programs, tree: Path, count: int, *words: str) -> list[str]:
    """Back up `count` times; return the short ids, oldest first."""
    for _ in range(count):
        assert programs.back_up(tree, words=("--source", "home", *words)).code == 0
    return ids(programs)[-count:]


def listed(programs: Programs, *words: str) -> list[dict[str, object]]:
    found = programs.repo("list", programs.repository, "--json", *words).json["backups"]
    assert isinstance(found, list)
    return found


def ids(programs: Programs, *words: str) -> list[str]:
    return [str(each["short_id"]) for each in listed(programs, *words)]


def forget(programs: Programs, *words: str) -> Ended:
    return programs.repo("forget", programs.repository, *words)


def test_a_plan_is_shown_then_carried_out_and_undone(programs: Programs, tree: Path) -> None:
    made = make(programs, tree, 4)
    planned = forget(programs, "--keep-last", "2", "--dry-run")
    assert planned.code == 0
    lines = planned.out.splitlines()
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["keep", made[3]],
        ["keep", made[2]],
        ["delete", made[1]],
        ["delete", made[0]],
    ]
    assert lines[1].endswith("last 1 of 2")
    assert lines[3].endswith("no rule keeps it")
    assert lines[5] == "2 to keep, 2 to delete"
    refused = forget(programs, "--keep-last", "2")
    assert refused.code == 2
    assert "2 to delete" in refused.out
    assert "--yes" in refused.err
    assert forget(programs, "--keep-last", "2", "--json").json["error"]["code"] == "CONFIRMATION_MISSING"
    assert ids(programs) == made
    done = forget(programs, "--keep-last", "2", "--yes", "--reason", "tidying")
    assert done.code == 0
    assert "nothing is freed yet: prune frees the room; until then undelete" in done.out
    assert ids(programs) == made[2:]
    (gone, other) = listed(programs, "--deleted")
    assert [gone["short_id"], other["short_id"]] == made[:2]
    assert isinstance(gone["deleted"], dict)
    assert gone["deleted"]["reason"] == "tidying"
    assert ", deleted 20" in programs.repo("list", programs.repository, "--deleted").out
    assert "2 deleted and not yet pruned" in programs.repo("info", programs.repository).out
    assert programs.repo("undelete", programs.repository, made[1]).code == 0
    assert ids(programs) == made[1:]
    back = programs.repo("undelete", programs.repository, "--all", "--json")
    assert [each["short_id"] for each in back.json["undeleted"]] == [made[0]]
    none = programs.repo("undelete", programs.repository, "--all")
    assert (none.code, "what a prune has taken is gone for good" in none.err) == (0, True)
    assert ids(programs) == made
    assert listed(programs, "--deleted") == []


def test_what_names_a_deleted_backup_is_told_so(programs: Programs, tree: Path, tmp_path: Path) -> None:
    gone, stays = make(programs, tree, 2)
    assert forget(programs, gone, "--yes", "--reason", "by mistake").code == 0
    for verb, words in (("show", ()), ("ls", ()), ("dump", ("file",)), ("diff", (stays,)), ("find", ())):
        named = ("--backup", gone, "file") if verb == "find" else (gone, *words)
        ended = programs.repo(verb, programs.repository, *named)
        assert ended.code == 1, verb
        assert "was deleted on 20" in ended.err
        assert "(by mistake)" in ended.err
        assert "undelete brings it back until the next prune" in ended.err
    target = tmp_path / "target"
    restored = programs.agent("restore", "-r", programs.repository, "--backup", gone, "--target", target)
    assert restored.code == 1
    assert "was deleted on" in restored.err
    assert not target.exists()
    assert programs.agent("restore", "-r", programs.repository, "--backup", "latest", "--target", target).code == 0
    checked = programs.repo("check", programs.repository)
    assert checked.code == 0, checked.out


def test_a_deleted_backup_is_no_parent_but_keeps_its_number(programs: Programs, tree: Path) -> None:
    first, second = make(programs, tree, 2)
    assert forget(programs, second, "--yes").code == 0
    third = make(programs, tree, 1)[0]
    by_id = {each["short_id"]: each for each in listed(programs)}
    assert by_id[third]["parent"] == by_id[first]["id"]
    assert by_id[third]["sequence"] == 3
    ended = programs.back_up(tree, words=("--source", "home", "--parent", second))
    assert ended.code == 1
    assert "was deleted on" in ended.err
    assert programs.repo("check", programs.repository).code == 0


def test_the_last_good_backup_needs_to_be_allowed(programs: Programs, tree: Path) -> None:
    (only,) = make(programs, tree, 1)
    refused = forget(programs, only, "--yes", "--json")
    assert refused.code == 1
    assert refused.json["error"]["code"] == "LAST_BACKUP"
    assert "--allow-last" in refused.json["error"]["hint"]
    assert forget(programs, "--keep-tag", "typo", "--yes").code == 0, "nothing would be lost"
    assert forget(programs, only, "--yes", "--allow-last").code == 0
    assert ids(programs) == []


def test_no_rule_at_all_is_refused(programs: Programs, tree: Path) -> None:
    make(programs, tree, 2)
    for words in ((), ("--keep-last", "0"), ("--zone", "Europe/Berlin"), ("--source", "home")):
        ended = forget(programs, *words, "--yes")
        assert ended.code == 2
        assert "no keep rule is given" in ended.err
    assert forget(programs, "--keep-daily", "-1", "--yes").code == 2
    assert forget(programs, "--keep-daily", "1", "--zone", "Nowhere", "--yes").code == 2
    assert forget(programs, "--keep-within", "5", "--yes").code == 2
    assert len(ids(programs)) == 2


def test_tags_holds_and_notes_are_given_shown_and_taken_away(programs: Programs, tree: Path) -> None:
    own, other = make(programs, tree, 2, "--tag", "auto")
    given = programs.repo("tag", programs.repository, own, other, "--add", "monthly", "--note", "before the move")
    assert given.code == 0
    assert f"{own}  tags: auto, monthly; note: before the move" in given.out
    assert programs.repo("tag", programs.repository, own, "--remove", "auto", "--add", "monthly").code == 0
    assert {each["short_id"]: each["tags"] for each in listed(programs)} == {
        own: ["monthly"],
        other: ["auto", "monthly"],
    }
    assert ids(programs, "--tag", "auto") == [other]
    back = programs.repo("tag", programs.repository, own, "--add", "auto", "--note", "", "--json").json["backups"][0]
    assert (back["tags"], back["remarks"]) == (["auto", "monthly"], [])
    assert programs.repo("tag", programs.repository, own).code == 2
    assert programs.repo("tag", programs.repository, own, "--add", "a\nb").code == 2
    torn = programs.repo("tag", programs.repository, own, "--add", "x", "--remove", "x")
    assert (torn.code, torn.out, "nothing was taken away" in torn.err) == (2, "", False)
    held = programs.repo("hold", programs.repository, own, "--reason", "audit", "--until", "2100-01-01")
    assert held.code == 0
    assert "audit" in held.out
    shown = programs.repo("show", programs.repository, own).out
    assert "audit (until 2100-01-01T23:59:59" in shown
    assert ", held" in programs.repo("list", programs.repository).out
    refused = forget(programs, own, "--yes", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "BACKUP_HELD")
    assert "audit" in refused.json["error"]["message"]
    kept = forget(programs, "--keep-last", "1", "--yes", "--json").json
    assert kept["deleted"] == []
    assert [reason["rule"] for each in kept["plan"] for reason in each["reasons"]] == ["last", "hold"]
    assert programs.repo("hold", programs.repository, own).code == 2
    assert programs.repo("hold", programs.repository, own, "--release", "--reason", "x").code == 2
    assert "1 hold of backup" in programs.repo("hold", programs.repository, own, "--release").out
    assert forget(programs, own, "--yes").code == 0


def test_ids_may_follow_a_location_from_the_environment(
    programs: Programs, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(programs, tree, 3)
    monkeypatch.setenv("SYNCOVA_REPOSITORY", str(programs.repository))
    assert programs.repo("forget", made[0], "--yes").code == 0
    assert programs.repo("forget", programs.repository, made[1], "--yes").code == 0
    assert ids(programs) == [made[2]]


@pytest.mark.parametrize(("answer", "left"), [("y\n", 1), ("n\n", 2), ("\n", 2)])
def test_on_a_terminal_it_asks(programs: Programs, tree: Path, answer: str, left: int) -> None:
    made = make(programs, tree, 2)
    words = ["forget", str(programs.repository), made[0], "--password-file", str(programs.password_file)]
    controller, terminal = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "repositories.cli", *words],
            stdin=terminal,
            stderr=terminal,
            stdout=subprocess.PIPE,
            close_fds=True,
        )
        os.write(controller, answer.encode())
        out, _ = process.communicate(timeout=60)
    finally:
        os.close(controller)
        os.close(terminal)
    assert len(ids(programs)) == left
    assert process.returncode == (0 if left == 1 else 130)
    assert b"1 to delete" in out


def test_two_processes_hold_and_forget_one_backup(programs: Programs, tree: Path) -> None:
    """Whoever comes first: the hold wins, and both tell the truth."""
    made = make(programs, tree, 3)
    common = ["--json", "--password-file", str(programs.password_file)]
    for victim in made[:2]:
        call = [sys.executable, "-m", "repositories.cli"]
        place = [str(programs.repository), victim]
        both = [
            subprocess.Popen([*call, *words, *common], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for words in (["hold", *place, "--reason", "audit"], ["forget", *place, "--yes"])
        ]
        held, forgot = (json.loads(each.communicate(timeout=60)[0]) for each in both)
        is_there = victim in ids(programs)
        if "error" in held:
            assert held["error"]["code"] == "BACKUP_DELETED"
            assert not is_there
            assert [each["short_id"] for each in forgot["deleted"]] == [victim]
        else:
            assert is_there
            deleted = [each["short_id"] for each in forgot.get("deleted", [])]
            assert deleted == [] or (deleted == [victim] and held["brought_back"])
            assert programs.repo("hold", programs.repository, victim, "--release").code == 0
            assert victim in ids(programs)
