"""What is typed by mistake: an unset variable is no path, and a removed working directory is no defect."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from repositories.console import exits
from tests.cli.programs import Programs
from tests.cli.test_agent_backup import ROOT


@pytest.mark.parametrize(
    "words",
    [
        ("backup", "--path", ""),
        ("restore", "--backup", "latest", "--target", ""),
        ("restore", "--backup", "latest", "--target", "restored", "--path", ""),
    ],
)
def test_an_empty_path_is_not_the_working_directory(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_text("content")
    (tmp_path / "here").mkdir()
    programs.back_up(tmp_path / "tree")
    monkeypatch.chdir(tmp_path / "here")
    verb, *rest = words
    ended = programs.agent(verb, "-r", programs.repository, *rest)
    assert (ended.code, ended.err.splitlines()[0].endswith(" is empty")) == (exits.USAGE, True)
    assert os.listdir() == []
    assert len(programs.repo("list", programs.repository, "--json").json["backups"]) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("key", "remove", "."),
        ("show", "."),
        ("hold", "."),
        ("tag", ".", "--add", "kept"),
        ("forget", ".", "--yes"),
        ("undelete", "."),
        ("copy", ".", "--to", "other"),
        ("stats", "."),
        ("ls", "."),
        ("dump", "."),
        ("diff", ".", "latest"),
        ("find", "."),
        ("find", "--backup", "", "x"),
        ("tag", "latest", "--remove", ""),
        ("list", "--source", ""),
        ("list", "--tag", ""),
        ("forget", "--keep-last", "1", "--source", "", "--yes"),
        ("forget", "--keep-tag", "", "--yes"),
        ("repair", "--adopt", ""),
        ("key", "add", "--label", ""),
    ],
    ids="-".join,
)
def test_an_empty_name_names_nothing(programs: Programs, words: tuple[str, ...]) -> None:
    """The first password has the label "": an unset variable would remove it."""
    verb, *rest = ["" if word == "." else word for word in words]
    before = sorted(Path(programs.repository).rglob("*"))
    ended = programs.repo(verb, *rest[: verb == "key"], "-r", programs.repository, *rest[verb == "key" :])
    assert (ended.code, ended.err.splitlines()[0].endswith(" is empty")) == (exits.USAGE, True)
    assert sorted(Path(programs.repository).rglob("*")) == before


@pytest.mark.parametrize("words", [("--path", "", "/"), ("--path", "x", "")])
def test_explain_takes_no_empty_path_either(programs: Programs, words: tuple[str, ...]) -> None:
    assert "is empty" in programs.agent("explain", *words, secret=False).err


@pytest.mark.parametrize("words", [("agents.runtime", "backup", "--path", "x"), ("repositories.cli", "list")])
def test_a_removed_working_directory_is_named(programs: Programs, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "gone").mkdir()
    program, *rest = words
    command = [sys.executable, "-P", "-m", program, *rest, "-r", "repo", "--password-file", programs.password_file]
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$0" && exec "$@"', str(tmp_path / "gone"), *map(str, command)],
        cwd=tmp_path / "gone",
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == exits.USAGE
    assert "the working directory has been removed" in done.stderr


def test_a_removed_working_directory_does_not_matter_to_absolute_paths(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert programs.back_up(tmp_path / "tree").code == exits.DONE


NO_TEXT = "\udcff"


def test_what_is_no_text_ends_the_command(programs: Programs, tmp_path: Path) -> None:
    """A command line holds any bytes. A child that never got its request would wait for ever."""
    (tmp_path / "tree").mkdir()
    programs.back_up(tmp_path / "tree")
    to = ("--to", tmp_path / "other", "--to-password-file", programs.password_file)
    target = ("-r", programs.repository, "--target", tmp_path / "target")
    for ended in (
        programs.repo("copy", programs.repository, *to, "--source", NO_TEXT),
        programs.repo("copy", "-r", programs.repository, *to, NO_TEXT * 4),
        programs.repo("repair", programs.repository, "--adopt", NO_TEXT),
        programs.agent("restore", *target, "--backup", NO_TEXT),
        programs.agent("restore", *target, "--backup", "latest", "--source", NO_TEXT),
        programs.back_up(tmp_path / "tree", words=("--parent", NO_TEXT)),
        programs.repo("key", "add", programs.repository, "--label", NO_TEXT, *new_password(tmp_path)),
    ):
        assert (ended.code, "is not UTF-8 text" in ended.err) == (exits.USAGE, True), ended


def test_this_machines_memory_may_lie_below_any_name(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home directory is no text either, nor is a host's name."""
    monkeypatch.setenv("XDG_STATE_HOME", os.fsdecode(bytes(tmp_path) + b"/state \xff"))
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename="host \udcff"))
    (tmp_path / "tree").mkdir()
    assert programs.back_up(tmp_path / "tree").code == exits.DONE
    (backup,) = programs.repo("list", programs.repository, "--json").json["backups"]
    assert backup["host"] == "host \\xff"
    assert programs.repo("check", programs.repository).code == exits.DONE
    assert list((tmp_path / os.fsdecode(b"state \xff")).rglob("*.json"))


def new_password(directory: Path) -> tuple[str, str]:
    (directory / "new").write_bytes(b"another\n")
    return "--new-password-file", str(directory / "new")


def test_a_hold_that_no_record_can_hold_is_refused(programs: Programs, tmp_path: Path) -> None:
    """Who writes the last year means for ever, which is said by leaving the time out."""
    (tmp_path / "tree").mkdir()
    programs.back_up(tmp_path / "tree")
    words = (programs.repository, "latest", "--reason", "audit", "--until")
    refused = programs.repo("hold", *words, "9999-12-31")
    assert (refused.code, "without --until it never ends" in refused.err) == (exits.USAGE, True)
    assert programs.repo("hold", *words, "2554-01-01").code == exits.DONE
