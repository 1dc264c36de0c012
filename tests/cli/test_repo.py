"""syncova-repo: create, info, list, show, ls."""

import base64
import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.errors import RepositoryExistsError
from repositories.engine.ids import SHORT_ID_LENGTH
from repositories.engine.process.spawn import child_environment
from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import HOSTILE, MARKUP, Programs, hostile_tree
from tests.engine.repositories import PASSWORD, back_up_tree
from tests.engine.trees import add_socket


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "below").mkdir(parents=True)
    (path / "below" / "file").write_text("content")
    (path / "below").chmod(0o750)
    return path


def test_create_shows_the_recovery_code_once_and_it_opens(programs: Programs, tmp_path: Path) -> None:
    """E7: a repository is made by this command; engine.md 1.2: a printable recovery code."""
    made = programs.repo("create", tmp_path / "new", "--label", "laptop", "--json")
    assert made.code == exits.DONE
    document = made.json
    assert set(document) == {"repository_id", "location", "recovery_code"}
    assert document["location"] == str(tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    opened = open_repository(LocalStorage(str(tmp_path / "new")), document["recovery_code"].encode())
    assert opened.id == document["repository_id"]
    assert PASSWORD.decode() not in made.out + made.err
    again = programs.repo("create", tmp_path / "new", "--json")
    assert again.code == exits.FAILED
    assert again.json["error"]["code"] == RepositoryExistsError.code


def test_a_repository_without_secrecy_must_be_asked_for(programs: Programs, tmp_path: Path) -> None:
    """A5: the published empty password, only when asked for, never without a warning."""
    made = programs.repo("create", tmp_path / "open", "--insecure-no-password", secret=False)
    assert made.code == exits.DONE
    assert "not secret" in made.err
    opened = programs.repo("list", tmp_path / "open", "--insecure-no-password", secret=False)
    assert (opened.code, "not secret" in opened.err) == (exits.DONE, True)
    checked = programs.repo("check", tmp_path / "open", "--insecure-no-password", secret=False)
    assert (checked.code, "not secret" in checked.err) == (exits.DONE, True)
    for verb in ("list", "check"):
        refused = programs.repo(verb, programs.repository, "--insecure-no-password", secret=False)
        assert (refused.code, "not secret" in refused.err) == (exits.WRONG_KEY, False)
    (tmp_path / "password").write_bytes(b"\n")
    assert programs.repo("create", tmp_path / "other").code == exits.USAGE


def test_info_tells_keys_and_sizes(programs: Programs, tree: Path) -> None:
    assert programs.back_up(tree).code == exits.DONE
    facts = programs.repo("info", programs.repository, "--json").json
    assert [key["role"] for key in facts["keys"]].count("recovery_code") == 1
    assert (facts["format"], facts["backups"], len(facts["sources"])) == (1, 1, 1)
    assert facts["bytes"] >= facts["pack_bytes"] > 0
    shown = programs.repo("info", programs.repository)
    assert facts["repository_id"] in shown.out
    assert [line.partition(", made")[0] for line in shown.out.splitlines() if line.startswith("key: ")] == [
        "key: password",
        "key: recovery code",
    ]
    shown.assert_harmless()


def test_list_is_oldest_first_and_has_the_fixed_fields(programs: Programs, tree: Path) -> None:
    """design.md 4: `list` is {"backups": [{id, short_id, source, time, state, …}]}."""
    listed = programs.repo("list", programs.repository, "--json").json
    assert listed == {
        "backups": [], "damaged_manifests": [], "missing_manifests": [], "inventory_lost": False, "sweep_lost": False,
    }  # fmt: skip
    assert programs.repo("list", programs.repository).out == "no backups\n"
    programs.back_up(tree, words=("--source", "one", "--tag", "weekly"))
    programs.back_up(tree, words=("--source", "two"))
    backups = programs.repo("list", programs.repository, "--json").json["backups"]
    assert [backup["source"] for backup in backups] == ["one", "two"]
    assert [backup["state"] for backup in backups] == ["complete", "complete"]
    assert all(len(backup["short_id"]) == SHORT_ID_LENGTH for backup in backups)
    assert backups[0]["tags"] == ["weekly"]
    assert backups[0]["time"] < backups[1]["time"]
    assert backups[0]["path"] == str(tree)
    one = programs.repo("list", programs.repository, "--source", "one", "--json").json["backups"]
    assert one == backups[:1]
    shown = programs.repo("list", programs.repository)
    assert shown.out.splitlines()[1].startswith(backups[0]["short_id"])


def test_a_lost_backup_is_told_and_hides_no_other(programs: Programs, tree: Path) -> None:
    """design.md 1: it never claims a backup that is not there, and never leaves one out silently."""
    programs.back_up(tree)
    programs.back_up(tree)
    kept, lost = programs.repo("list", programs.repository, "--json").json["backups"]
    for copy in programs.repository.glob(f"**/manifests/{lost['manifest_id']}"):
        copy.chmod(0o600)
        copy.write_bytes(b"damaged")
    ended = programs.repo("list", programs.repository, "--json")
    assert ended.code == exits.INTEGRITY
    assert (ended.json["backups"], ended.json["damaged_manifests"]) == ([kept], [f"manifests/{lost['manifest_id']}"])
    assert "that backup is lost" in programs.repo("list", programs.repository).err
    assert "that backup is lost" in programs.repo("info", programs.repository).err
    words = ("restore", "-r", programs.repository, "--backup", "latest", "--target", tree.parent / "restored")
    restored = programs.agent(*words)
    assert restored.code == exits.SKIPPED, "latest is the newest that is left, not what was asked for"
    assert "that backup is lost" in restored.err


def test_show_takes_any_unique_part_of_an_id(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    (backup,) = programs.repo("list", programs.repository, "--json").json["backups"]
    for selector in ("latest", backup["id"], backup["short_id"], backup["id"][-8:], backup["manifest_id"][:6]):
        document = programs.repo("show", programs.repository, selector, "--json").json
        assert document == {"backup": backup, "problems": [], "problem_count": 0, "problem_counts": []}
    missing = programs.repo("show", programs.repository, "ffffffffffff", "--json")
    assert missing.json["error"]["code"] == "BACKUP_NOT_FOUND"
    assert missing.code == exits.FAILED


def test_show_lists_the_problems_that_a_backup_carries(
    programs: Programs, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """engine.md 1.6: a backup carries its problems."""
    (tree / "secret").write_bytes(b"x")
    add_socket(tree)
    real_open = os.open

    def deny(path: bytes, *arguments: int, **fields: int) -> int:
        # Root may read everything: the refusal that others get from the kernel is given here.
        if path == b"secret":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real_open(path, *arguments, **fields)

    repository = open_repository(LocalStorage(str(programs.repository)), PASSWORD)
    monkeypatch.setattr(os, "open", deny)
    assert back_up_tree(repository, tree).skipped == 1
    document = programs.repo("show", programs.repository, "latest", "--json").json
    assert document["backup"]["state"] == "partial"
    (problem,) = document["problems"]
    assert (problem["severity"], problem["kind"], problem["path"]) == ("skipped", "permission", "secret")
    note = {"severity": "note", "kind": "socket", "count": 1}
    assert document["problem_counts"] == [{"severity": "skipped", "kind": "permission", "count": 1}, note]
    shown = programs.repo("show", programs.repository, "latest").out
    assert "  skipped: secret: Permission denied\n" in shown
    assert "  note: sockets, which hold no data: 1\n" in shown
    assert "1 skipped, 0 warnings, 1 note" in shown
    assert "partial (1 skipped" in programs.repo("list", programs.repository).out


def test_ls_shows_one_directory_or_everything_below(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)

    def paths(*words: str) -> list[str]:
        document = programs.repo("ls", programs.repository, "latest", *words, "--json").json
        assert document["backup"]["short_id"]
        return [entry["path"] for entry in document["entries"]]

    assert paths() == ["below"]
    assert paths("--recursive") == ["below", "below/file"]
    assert paths("below") == paths(str(tree / "below")) == paths("./below/") == ["below/file"]
    assert paths("below/file") == ["below/file"]
    (entry,) = programs.repo("ls", programs.repository, "latest", "--json").json["entries"]
    assert (entry["type"], entry["mode"], entry["uid"]) == ("directory", "0750", os.getuid())
    assert programs.repo("ls", programs.repository, "latest").out == "below\n"
    assert programs.repo("ls", programs.repository, "latest", "--long").out.startswith("drwxr-x--- ")


@pytest.mark.parametrize("path", ["nothing", "below/nothing", "/etc", "../x", "below/file/x"])
def test_ls_of_what_is_not_there_is_an_error(programs: Programs, tree: Path, path: str) -> None:
    programs.back_up(tree)
    ended = programs.repo("ls", programs.repository, "latest", path, "--json")
    assert ended.code == exits.USAGE
    assert set(ended.json) == {"error"}


def test_hostile_names_are_shown_harmlessly_and_kept_exactly(programs: Programs, tmp_path: Path) -> None:
    """1.22: names are bytes; text is escaped, JSON carries what the text cannot."""
    tree = hostile_tree(tmp_path / "\u202ehostile\n[b]\\")
    backup = programs.back_up(tree)
    assert backup.code == exits.DONE
    backup.assert_harmless()
    programs.back_up(tree, words=("--json",)).assert_harmless()
    for words in (("list",), ("show", "latest"), ("ls", "latest"), ("ls", "latest", "-lR"), ("info",)):
        verb, *rest = words
        programs.repo(verb, programs.repository, *rest).assert_harmless()
        programs.repo(verb, programs.repository, *rest, "--json").assert_harmless()
    shown = programs.repo("ls", programs.repository, "latest", "-R").out
    assert "a[/b].txt" in shown
    assert "[bold red]markup[" in shown
    entries = programs.repo("ls", programs.repository, "latest", "-R", "--json").json["entries"]
    names = {
        base64.b64decode(entry["path_base64"]) if "path_base64" in entry else entry["path"].encode()
        for entry in entries
    }
    assert names == {*HOSTILE, MARKUP[0], b"/".join(MARKUP), b"link"}
    (link,) = [entry for entry in entries if entry["type"] == "link"]
    assert base64.b64decode(link["target_base64"]) == b"\x1b[2J\xff target"


@pytest.mark.parametrize("selector", ["\x1b[31m\u202eid\n", "[/b]", "\udcff\udcfe" * 4])
def test_hostile_words_come_back_harmless(programs: Programs, selector: str) -> None:
    for verb in ("show", "ls"):
        for words in ((), ("--json",)):
            ended = programs.repo(verb, programs.repository, selector, *words)
            assert ended.code != exits.DONE
            ended.assert_harmless()
    programs.repo("list", f"/nowhere/{selector}").assert_harmless()
    programs.repo("list", programs.repository, "--source", selector).assert_harmless()


@pytest.mark.parametrize("verb", ["list", "info", "show", "ls", "find", "diff", "dump", "check"])
def test_no_repository_wrong_password_no_password(programs: Programs, tmp_path: Path, verb: str) -> None:
    """design.md 4: 10 no repository, 12 wrong password; a prompt never waits without a terminal."""
    rest = {"diff": ("latest", "latest"), "dump": ("latest", "--output", "x"), "check": ()}.get(verb, ("latest",))
    rest = () if verb in ("list", "info") else rest
    nowhere = programs.repo(verb, tmp_path / "nowhere", *rest, "--json")
    assert (nowhere.code, nowhere.json["error"]["code"]) == (exits.NO_REPOSITORY, "REPOSITORY_NOT_FOUND")
    programs.password_file.write_bytes(b"wrong\n")
    wrong = programs.repo(verb, programs.repository, *rest, "--json")
    assert (wrong.code, wrong.json["error"]["code"]) == (exits.WRONG_KEY, "WRONG_PASSWORD")
    none = programs.repo(verb, programs.repository, *rest, "--json", secret=False)
    assert (none.code, none.json["error"]["code"]) == (exits.USAGE, "PASSWORD_MISSING")


def test_the_environment_names_repository_and_password(
    programs: Programs, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNCOVA_REPOSITORY", str(programs.repository))
    monkeypatch.setenv("SYNCOVA_REPOSITORY_PASSWORD", PASSWORD.decode())
    assert programs.agent("backup", "--path", tree, secret=False).code == exits.DONE
    assert len(programs.repo("list", "--json", secret=False).json["backups"]) == 1
    assert programs.repo("ls", "latest", "below", secret=False).code == exits.DONE
    assert programs.repo("show", "latest", secret=False).code == exits.DONE


def test_a_terminal_that_knows_ascii_only_gets_escapes(programs: Programs, tree: Path) -> None:
    (tree / "Grüße").write_text("x")
    programs.back_up(tree)
    words = ["ls", str(programs.repository), "latest", "--password-file", str(programs.password_file)]
    environment = {**child_environment(), "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    for form, expected in (([], rb"Gr\xfc\xdfe"), (["--json"], "Grüße".encode())):
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "repositories.cli", *words, *form],
            env=environment,
            capture_output=True,
            check=False,
        )
        assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False)
        assert expected in ended.stdout
