"""syncova-repo find, diff, ls --long, show: what they print, for people and as JSON, whatever the names are."""

import os
import tracemalloc
from pathlib import Path

import pytest

from repositories.cli.program import main
from repositories.console import exits
from repositories.engine.manifest.entries import FLAG_CHANGED, EntryType
from repositories.engine.manifest.problems import ProblemRecord
from repositories.engine.manifest.root import (
    BackupRoot,
    LineageRecord,
    OriginRecord,
    SourceRecord,
    Statistics,
    encode_root,
)
from repositories.engine.manifest.streams import StreamWriter
from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import HOSTILE, Programs, hostile_tree
from tests.engine.browse.builders import made_up, make_backup
from tests.engine.repositories import PASSWORD


@pytest.fixture
def ids(programs: Programs, tmp_path: Path) -> list[str]:
    """Three backups of a tree that changes; their short ids."""
    tree = tmp_path / "tree"
    (tree / "docs").mkdir(parents=True)
    (tree / "docs" / "Letter.odt").write_text("one")
    (tree / "docs" / "gone").write_text("going")
    os.utime(tree / "docs" / "gone", ns=(0, 10**18))
    programs.back_up(tree)
    programs.back_up(tree)
    (tree / "docs" / "Letter.odt").write_text("longer")
    (tree / "docs" / "gone").unlink()
    (tree / "new").write_text("x")
    programs.back_up(tree, words=("--tag", "third"))
    return [each["short_id"] for each in programs.repo("list", programs.repository, "--json").json["backups"]]


def test_find_tells_versions_and_backups(programs: Programs, ids: list[str]) -> None:
    told = programs.repo("find", programs.repository, "letter*", "-i", "--json")
    assert told.code == exits.DONE
    assert [each["short_id"] for each in told.json["backups"]] == ids
    (found,) = told.json["found"]
    assert found["path"] == "docs/Letter.odt"
    assert [(version["size"], version["backups"]) for version in found["versions"]] == [(3, ids[:2]), (6, ids[2:])]
    assert told.json["unread"] == []
    lines = programs.repo("find", programs.repository, "*.odt").out.splitlines()
    assert lines[0].startswith("source ")
    assert [line[0] for line in lines[1:]] == ["-", "-"]
    assert f"{ids[0]}..{ids[1]} (2)  docs/Letter.odt" in lines[1]
    assert f"{ids[2]}  docs/Letter.odt" in lines[2]


def test_json_tells_the_tags_that_count_now(programs: Programs, ids: list[str], tmp_path: Path) -> None:
    """Of ls, diff, dump, find and show as of list: what came upon a backup since, and what was taken away."""
    change = ("tag", programs.repository, ids[2], "--add", "late", "--remove", "third")
    assert programs.repo(*change).code == exits.DONE  # type: ignore[arg-type]
    repository, where = programs.repository, tmp_path / "dumped"
    told = {
        "ls": programs.repo("ls", repository, ids[2], "--json").json["backup"],
        "diff": programs.repo("diff", repository, ids[0], ids[2], "--json").json["after"],
        "dump": programs.repo("dump", repository, ids[2], "new", "--output", where, "--json").json["backup"],
        "find": programs.repo("find", repository, "new", "--json").json["backups"][2],
        "show": programs.repo("show", repository, ids[2], "--json").json["backup"],
        "list": programs.repo("list", repository, "--json").json["backups"][2],
    }
    assert {name: fields["tags"] for name, fields in told.items()} == {name: ["late"] for name in told}


def test_find_takes_filters(programs: Programs, ids: list[str]) -> None:
    def paths(*words: str) -> list[str]:
        document = programs.repo("find", "-r", programs.repository, *words, "--json").json
        return [each["path"] for each in document["found"]]

    assert paths("--older", "2001-09-09 01:46:41") == ["docs/gone"]
    assert paths("--newer", "2001-09-09", "--older", "2001-09-10") == ["docs/gone"]
    assert paths("--older", "2001-09-09") == []
    assert paths("--larger", "5") == ["docs/Letter.odt"]
    assert paths("--smaller", "1kB", "--type", "f", "--backup", ids[2]) == ["new", "docs/Letter.odt"]
    assert paths("--type", "d") == ["docs"]
    assert paths("*gone", "--source", "nobody") == []
    assert paths("--path", "docs/*", "--name", "g*") == ["docs/gone"]
    for words, said in (
        ((), "nothing to look for"),
        (("--type", "x"), "no type"),
        (("--larger", "much"), "no size"),
        (("--newer", "soon"), "no time"),
    ):
        ended = programs.repo("find", "-r", programs.repository, *words)
        assert (ended.code, said in ended.err) == (exits.USAGE, True)


def test_diff_lists_and_sums_up(programs: Programs, ids: list[str], tmp_path: Path) -> None:
    """Different or not, the exit code is 0: 1 means a failure."""
    ended = programs.repo("diff", programs.repository, ids[0], "latest")
    assert ended.code == exits.DONE
    lines = [line.split() for line in ended.out.splitlines()]
    assert [(line[0], line[-1]) for line in lines[:-1]] == [("+", "new"), ("M", "docs/Letter.odt"), ("-", "docs/gone")]
    assert "1 added, 1 removed, 1 changed" in ended.out
    document = programs.repo("diff", programs.repository, ids[0], ids[2], "--metadata", "--json").json
    told = {each["path"]: (each["change"], each["aspects"]) for each in document["changes"]}
    assert told["docs/Letter.odt"][0] == "changed"
    assert told["docs"] == ("metadata", ["mtime"])
    assert document["summary"]["aspects"]["content"] == 1
    assert document["changes"][0]["after"]["mode"]
    part = programs.repo(
        "diff", programs.repository, ids[0], ids[2], tmp_path / "tree" / "docs" / "gone", "--json"
    ).json
    assert [each["path"] for each in part["changes"]] == ["docs/gone"]
    figures = programs.repo("diff", programs.repository, ids[0], ids[2], "--stat")
    assert len(figures.out.splitlines()) == 1
    same = programs.repo("diff", programs.repository, ids[0], ids[1], "--metadata")
    assert same.out.startswith("0 added, 0 removed, 0 changed, 0 in metadata alone")
    missing = programs.repo("diff", programs.repository, ids[0], ids[1], "nothing", "--json")
    assert missing.code == exits.USAGE


def test_ls_long_tells_what_a_name_cannot_fake(programs: Programs) -> None:
    """Mode, hard-link group, owner, size, time come first, the name last; ! marks what was changing."""
    repository = open_repository(LocalStorage(str(programs.repository)), PASSWORD)
    paths = {
        b"a": made_up(b"a", size=1234, flags=FLAG_CHANGED, link_group=(0, 77), uid=4_000_000_000),
        b"b": made_up(b"b", EntryType.CHARACTER_DEVICE, mode=0o020600, device=(1, 3)),
        b"l": made_up(b"l", EntryType.LINK, mode=0o120777, target=b"to\n-rw-r--r--"),
        b"x\n-rw-r--r--  fake": made_up(b"x\n-rw-r--r--  fake"),
    }
    make_backup(repository, paths)
    ended = programs.repo("ls", programs.repository, "latest", "-l")
    ended.assert_harmless()
    lines = [line.split() for line in ended.out.splitlines()]
    assert len(lines) == len(paths)
    assert lines[0] == ["-rw-r--r--!", "4000000000:0", "1,234", "1970-01-01", "00:00:00", "UTC", "0:77", "a"]
    assert lines[1][:3] == ["crw-------", "0:0", "1,3"]
    assert lines[2][-3:] == ["l", "->", "to\\x0a-rw-r--r--"]
    entries = programs.repo("ls", programs.repository, "latest", "--json").json["entries"]
    assert (entries[0]["changed"], entries[0]["hard_link"], entries[0]["mtime_ns"]) == (True, "0:77", 1)
    assert entries[1]["device"] == "1:3"
    assert "changed" not in entries[1]


def test_hostile_names_are_found_and_compared_harmlessly(programs: Programs, tmp_path: Path) -> None:
    """1.22"""
    tree = hostile_tree(tmp_path / "\u202ehostile\n[b]\\")
    programs.back_up(tree)
    for name in HOSTILE:
        Path(os.fsdecode(os.path.join(os.fsencode(tree), name))).write_bytes(b"other")
    programs.back_up(tree)
    first = programs.repo("list", programs.repository, "--json").json["backups"][0]["short_id"]
    for form in ((), ("--json",)):
        found = programs.repo("find", programs.repository, "*", *form)
        found.assert_harmless()
        assert found.code == exits.DONE
        differing = programs.repo("diff", programs.repository, first, "latest", "--metadata", *form)
        differing.assert_harmless()
        assert differing.code == exits.DONE
        programs.repo("find", programs.repository, "\x1b[31m\udcff", "--type", "\x1b", *form).assert_harmless()
    named = programs.repo("find", programs.repository, "back\\slash", "invalid\udcff\udcfe", "--json").json["found"]
    assert len(named) == 2


def test_a_hundred_thousand_problems_are_listed_in_bounded_memory(
    programs: Programs, capfd: pytest.CaptureFixture[str]
) -> None:
    """engine.md 1.6: a backup carries its problems, all of them."""
    many = 100_000
    repository = open_repository(LocalStorage(str(programs.repository)), PASSWORD)
    with repository.begin_write() as session:
        stream = StreamWriter(session)
        for number in range(many):
            stream.add(ProblemRecord(1, "permission", b"some/where/%d" % number, "Permission denied"))
        root = BackupRoot(
            backup_id="run-1",
            source=SourceRecord("tree", "filesystem", b"/tree", "host"),
            origin=OriginRecord("", "external"),
            lineage=LineageRecord(1, "run-1", "full"),
            started_ns=1,
            finished_ns=2,
            statistics=Statistics(0, 0, 0, 0, 0, 0, 0, 0, 0, many, 0, 0),
            problems=stream.finish(),
        )
        session.commit(encode_root(root), lambda: None)
    short = programs.repo("show", programs.repository, "latest")
    assert f"  and {many - 100:,} more: --all-problems lists them\n" in short.out
    assert short.out.count("Permission denied") == 100
    told = programs.repo("show", programs.repository, "latest", "--json").json
    assert (len(told["problems"]), told["problem_count"]) == (100, many)
    words = ["show", str(programs.repository), "latest", "--all-problems", "--json"]
    capfd.readouterr()
    tracemalloc.start()
    try:
        code = main([*words, "--password-file", str(programs.password_file)])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    lines = capfd.readouterr().out.count("\n")
    assert (code, lines) == (exits.DONE, many)
    assert peak < 24 * 2**20
