"""Locations, paths, rules and times as people type them."""

import datetime as dt
import os
from pathlib import Path

import pytest

from repositories.console.failures import CommandError, FileUnreadableError, LocationMissingError
from repositories.console.options import RepositoryOptions
from repositories.console.paths import GivenRule, absolute, exclude_rules
from repositories.console.repository_access import own_paths, resolve, split_location
from repositories.console.times import parse_moment
from repositories.engine.errors import LocationNotAvailableError


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SYNCOVA_REPOSITORY", "SYNCOVA_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_the_first_word_is_the_location() -> None:
    assert split_location(["/repo", "latest"], RepositoryOptions(), most=1) == ("/repo", ["latest"])


def test_r_replaces_the_location() -> None:
    assert split_location(["latest", "dir"], RepositoryOptions(repository="/repo"), most=2) == (
        "/repo",
        ["latest", "dir"],
    )


def test_the_environment_replaces_it_unless_a_word_is_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNCOVA_REPOSITORY", "/from/environment")
    assert split_location([], RepositoryOptions()) == ("/from/environment", [])
    assert split_location(["latest"], RepositoryOptions(), most=1) == ("/from/environment", ["latest"])
    assert split_location(["/repo", "latest"], RepositoryOptions(), most=1) == ("/repo", ["latest"])
    assert split_location([], RepositoryOptions(repository="/option")) == ("/option", [])


def test_no_location_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(LocationMissingError) as caught:
        split_location([], RepositoryOptions())
    assert "SYNCOVA_REPOSITORY" in caught.value.hint


def test_local_locations_mean_the_same_in_every_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve("repo") == str(tmp_path / "repo")
    monkeypatch.setenv("HOME", "/home/alice")
    assert resolve("~/repo") == "/home/alice/repo"
    assert resolve("./s3:bucket") == str(tmp_path / "s3:bucket")
    for elsewhere in ("b2://bucket/prefix", "s3:bucket/x", "user@host:path"):
        with pytest.raises(LocationNotAvailableError):
            resolve(elsewhere)
    with pytest.raises(CommandError, match="UTF-8"):
        resolve(os.fsdecode(b"/repo\xff"))


def test_a_backup_never_holds_repository_or_own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SYNCOVA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    indexes = tmp_path / "state" / "syncova" / "repositories" / "indexes"
    assert set(own_paths("/repo")) == {bytes(tmp_path / "data"), bytes(indexes), b"/repo"}


def test_names_stay_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute(os.fsdecode(b"a\xff\n/../b\xfe"), "x") == bytes(tmp_path) + b"/b\xfe"


def test_rules_of_the_command_line_come_after_those_of_files(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("# why\n*.tmp\n\n!keep.tmp\n", encoding="utf-8")
    file = str(tmp_path / "rules")
    assert exclude_rules(("x",), (file,)) == (
        GivenRule("*.tmp", file, 2),
        GivenRule("!keep.tmp", file, 4),
        GivenRule("x"),
    )
    with pytest.raises(FileUnreadableError):
        exclude_rules((), (str(tmp_path / "missing"),))
    (tmp_path / "rules").write_bytes(b"\xff")
    with pytest.raises(FileUnreadableError, match="UTF-8"):
        exclude_rules((), (str(tmp_path / "rules"),))
    with pytest.raises(CommandError, match="UTF-8"):
        exclude_rules((os.fsdecode(b"\xff"),), ())


def test_exclude_files_are_read_as_git_reads_them(tmp_path: Path) -> None:
    """Both kinds of line ends, a byte order mark, comments, escaped and other spaces at the end."""
    file = tmp_path / "rules"
    file.write_bytes(b"\xef\xbb\xbf*.a\r\n\r\n# no\r\n  \n\\#yes\nb\\ \nc \n a\rb\nlast")
    assert [(rule.text, rule.line) for rule in exclude_rules((), (str(file),))] == [
        ("*.a", 1), ("\\#yes", 5), ("b\\ ", 6), ("c ", 7), (" a\rb", 8), ("last", 9),
    ]  # fmt: skip
    assert exclude_rules((), (str(file),))[0].origin == f"{file} line 1"


def test_a_rule_that_matches_nothing_is_named_by_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "rules"
    file.write_bytes(b"fine\n# comment\n[open\n")
    with pytest.raises(CommandError, match=r"\[open \(.*rules line 3\) can match nothing: a \[ is not closed"):
        exclude_rules((), (str(file),))
    with pytest.raises(CommandError, match=r"\(--exclude\) can match nothing"):
        exclude_rules(("x" * 5000,), ())


def test_an_exclude_file_without_end_is_refused(tmp_path: Path) -> None:
    for name, why in (("/dev/zero", "larger than"), (str(tmp_path), "cannot be read"), ("a\0b", "cannot be read")):
        with pytest.raises(FileUnreadableError, match=why):
            exclude_rules((), (name,))


def ns(*parts: int) -> int:
    return int(dt.datetime(*parts, tzinfo=dt.UTC).timestamp()) * 10**9  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30 08:00", ns(2026, 11, 30, 8)),
        ("2026-11-30T08:00:00Z", ns(2026, 11, 30, 8)),
        ("2026-11-30 08:00:00 UTC", ns(2026, 11, 30, 8)),
        ("2026-11-30T08:00:00+01:00", ns(2026, 11, 30, 7)),
        ("2026-11-30", ns(2026, 12, 1) - 1000),
    ],
)
def test_times(text: str, expected: int) -> None:
    """No zone is UTC (B4); a moment counts to the end of its microsecond, a date to the end of its day."""
    assert parse_moment(text) == expected + 999


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "08:00", "\x1b[31m"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_moment(text)
    assert caught.value.message.isprintable()
