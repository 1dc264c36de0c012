"""syncova-repo copy and create --related-to, as they are typed (3.6)."""

import os
import resource
import shutil
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.repository import CreateOptions, create_repository
from repositories.engine.storage.local import LocalStorage
from tests import canaries
from tests.cli.programs import Ended, Programs
from tests.engine.repositories import CHEAP

SECOND = canaries.repository_password("second")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    (path / "file").write_bytes(os.urandom(200_000))
    return path


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """An unrelated repository with a password of its own."""
    options = CreateOptions(password=SECOND.encode(), kdf=CHEAP, reserve_bytes=10)
    create_repository(LocalStorage(str(tmp_path / "second")), options)
    (tmp_path / "second password").write_text(SECOND + "\n")
    (tmp_path / "second password").chmod(0o600)
    return tmp_path / "second"


def copy(programs: Programs, to: Path, *words: str | Path) -> Ended:
    password = to.parent / "second password"
    return programs.repo("copy", programs.repository, "--to", to, "--to-password-file", password, *words)


def test_into_a_repository_with_another_password(programs: Programs, tree: Path, second: Path, tmp_path: Path) -> None:
    programs.back_up(tree)
    (backup,) = programs.repo("list", programs.repository, "--json").json["backups"]
    planned = copy(programs, second, "--dry-run")
    assert planned.code == exits.DONE
    assert "1 backup would be copied, 0 there already" in planned.out
    done = copy(programs, second, "--json")
    assert done.code == exits.DONE
    report = done.json
    assert [each["id"] for each in report["copied"]] == [backup["id"]]
    assert report["bytes_stored"] > 200_000
    again = copy(programs, second)
    assert "0 backups copied, 1 there already" in again.out
    programs.password_file = tmp_path / "second password"
    (copied,) = programs.repo("list", second, "--json").json["backups"]
    assert (copied["id"], copied["time"], copied["run_id"]) == (backup["id"], backup["time"], backup["run_id"])
    assert copied["copied_from"]["manifest_id"] == backup["manifest_id"]
    assert "from repository" in programs.repo("show", second, "latest").out
    assert programs.repo("check", second, "--read-data").code == exits.DONE
    restored = programs.agent("restore", "-r", second, "--backup", "latest", "--target", tmp_path / "out")
    assert restored.code == exits.DONE
    assert (tmp_path / "out" / "file").read_bytes() == (tree / "file").read_bytes()


def test_related_repositories(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """What one made, the other recognises: a backup of the same source stores nothing of it again."""
    programs.back_up(tree)
    related = tmp_path / "related"
    words = ("--related-to", programs.repository, "--related-password-file", programs.password_file)
    assert programs.repo("create", related, *words).code == exits.DONE
    (tmp_path / "second password").write_bytes(programs.password_file.read_bytes())
    report = copy(programs, related, "--json").json
    assert report["related"]
    assert report["resealed_blocks"] >= 1
    assert programs.agent("backup", "-r", related, "--path", tree).code == exits.DONE
    newest = programs.repo("list", related, "--json").json["backups"][-1]
    assert (newest["mode"], newest["copied_from"]) == ("incremental", None)
    assert newest["bytes_stored"] < 20_000


def test_damage_is_left_out_and_named(programs: Programs, tree: Path, second: Path) -> None:
    programs.back_up(tree)
    pack = max((programs.repository / "packs").rglob("*"), key=lambda path: path.is_file() and path.stat().st_size)
    data = bytearray(pack.read_bytes())
    data[1000] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(data)
    ended = copy(programs, second)
    assert ended.code == exits.INTEGRITY
    ended.assert_harmless()
    assert "not copied:" in ended.out
    assert "1 with damage not copied" in ended.out
    assert "check --read-data" in ended.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), exits.USAGE, "no repository to copy to"),
        (("--to", "second"), exits.USAGE, "to-password-file"),
        (("--to", "nowhere", "--to-insecure-no-password"), exits.NO_REPOSITORY, "the repository to copy to"),
        (("--to", "second", "--to-insecure-no-password"), exits.WRONG_KEY, "the repository to copy to"),
        (("--to", "second", "--to-insecure-no-password", "--to-password-file", "x"), exits.USAGE, "exclude each other"),
    ],
)
def test_wrong_words(
    programs: Programs, second: Path, words: tuple[str, ...], code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(second.parent)
    ended = programs.repo("copy", programs.repository, *words)
    assert ended.code == code
    assert said in ended.err
    ended.assert_harmless()


def test_a_full_target_is_named(programs: Programs, tree: Path, second: Path) -> None:
    """Two repositories are at work: it must be told which of them has no room. The next copy ends it."""
    programs.back_up(tree)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        ended = copy(programs, second)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ended.code == exits.FAILED
    assert "the repository to copy to: " in ended.err
    assert "make room" in ended.err
    assert "1 backup copied" in copy(programs, second).out


def test_into_itself(programs: Programs, tree: Path) -> None:
    (programs.directory / "second password").write_bytes(programs.password_file.read_bytes())
    ended = copy(programs, programs.repository)
    assert ended.code == exits.USAGE
    assert "both locations hold the repository" in ended.err


def test_an_older_state_of_the_target_gets_no_copies(
    programs: Programs, tree: Path, second: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """engine.md 5: a repository that shows an earlier state than was seen is read only until that is confirmed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copytree(second, tmp_path / "older")
    programs.back_up(tree)
    assert copy(programs, second).code == exits.DONE
    shutil.rmtree(second)
    (tmp_path / "older").rename(second)
    ended = copy(programs, second)
    assert ended.code != exits.DONE
    assert "the repository to copy to: the repository shows an earlier state than before" in ended.err
    assert not any((second / "packs").rglob("*"))


def test_what_was_said_of_a_backup_goes_along(programs: Programs, tree: Path, second: Path, tmp_path: Path) -> None:
    """Tags, notes and holds that came later; what changes of them is carried by the next copy, and told."""
    programs.back_up(tree, words=("--tag", "made with"))
    words = ("--add", "yearly", "--note", "before the move")
    assert programs.repo("tag", programs.repository, "latest", *words).code == exits.DONE
    assert programs.repo("hold", programs.repository, "latest", "--reason", "court").code == exits.DONE
    planned = copy(programs, second, "--dry-run")
    assert "3 later tags, notes and holds would be carried over" in planned.out
    done = copy(programs, second, "--json").json
    assert (done["labels_carried"], done["labels_ended"], done["damaged_labels"]) == (3, 0, [])
    assert programs.repo("tag", programs.repository, "latest", "--remove", "yearly").code == exits.DONE
    assert programs.repo("hold", programs.repository, "latest", "--release").code == exits.DONE
    assert "2 tags or holds would be ended" in copy(programs, second, "--dry-run").out
    again = copy(programs, second)
    assert "2 tags or holds ended" in again.out
    unchanged = copy(programs, second).out
    assert not any(word in unchanged for word in ("later tag", "ended"))
    programs.password_file = tmp_path / "second password"
    (copied,) = programs.repo("list", second, "--json").json["backups"]
    assert (copied["tags"], copied["holds"]) == (["made with"], [])
    assert [each["text"] for each in copied["remarks"]] == ["before the move"]


def test_one_label_is_told_as_one(programs: Programs, tree: Path, second: Path) -> None:
    programs.back_up(tree)
    assert programs.repo("tag", programs.repository, "latest", "--add", "yearly").code == exits.DONE
    assert "1 later tag, note or hold carried over" in copy(programs, second).out
    assert programs.repo("tag", programs.repository, "latest", "--remove", "yearly").code == exits.DONE
    assert "1 tag or hold would be ended" in copy(programs, second, "--dry-run").out
    assert "1 tag or hold ended" in copy(programs, second).out


def test_a_backup_with_a_note_that_cannot_be_read(programs: Programs, tree: Path, second: Path) -> None:
    """It may be a hold: the copy is made, and it is said what may be missing."""
    programs.back_up(tree)
    assert programs.repo("tag", programs.repository, "latest", "--add", "yearly").code == exits.DONE
    (note,) = (programs.repository / "annotations").iterdir()
    note.chmod(0o600)
    data = bytearray(note.read_bytes())
    data[100] ^= 1
    note.write_bytes(data)
    ended = copy(programs, second)
    assert ended.code == exits.INTEGRITY
    assert "1 backup copied" in ended.out
    assert f"annotations/{note.name} cannot be read: a tag, note or hold may be missing" in ended.err
