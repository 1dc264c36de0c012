"""syncova-repo key: list, add, change, remove, recovery-code, rotate (3.5)."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repositories.cli import key_add
from repositories.console import exits
from repositories.engine.errors import (
    ConfigurationError,
    EngineError,
    KeysChangedError,
    StorageFullError,
    StorageUnreachableError,
)
from repositories.engine.keychain import rotate
from repositories.engine.process.spawn import child_environment
from repositories.engine.storage.local import LocalStorage
from tests.cli.keys import NEW, key
from tests.cli.programs import Programs
from tests.engine.keychain.chains import keychain, opens
from tests.engine.repositories import PASSWORD

pytestmark = pytest.mark.usefixtures("cheap_keys")


def storage(programs: Programs) -> LocalStorage:
    return LocalStorage(str(programs.repository))


def test_list_shows_labels_and_no_secret(programs: Programs, new_file: Path) -> None:
    added = key(programs, "add", programs.repository, "--new-password-file", new_file, "--label", "lap\x1b[31mtop")
    assert added.code == exits.DONE
    listed = key(programs, "list", programs.repository, "--json").json
    assert (listed["generation"], listed["damaged_keys"], listed["damaged"]) == (1, 0, [])
    assert [(each["role"], each["label"], each["in_use"]) for each in listed["keys"]] == [
        ("password", "", True),
        ("recovery_code", "recovery code", False),
        ("password", "lap\\x1b[31mtop", False),
    ]
    assert set(listed["keys"][0]) == {"id", "short_id", "role", "label", "created_at", "in_use"}
    shown = key(programs, "list", programs.repository)
    assert shown.out.splitlines()[0].split() == ["ID", "TYPE", "MADE", "LABEL"]
    shown.assert_harmless()


def test_add_change_and_remove(programs: Programs, new_file: Path) -> None:
    assert key(programs, "add", programs.repository, "--new-password-file", new_file, "--label", "x").code == exits.DONE
    assert opens(storage(programs), NEW.encode())
    again = key(programs, "add", programs.repository, "--new-password-file", new_file, "--json")
    assert (again.code, again.json["error"]["code"]) == (exits.USAGE, ConfigurationError.code)
    assert key(programs, "remove", programs.repository, "x").code == exits.DONE
    assert not opens(storage(programs), NEW.encode())
    changed = key(programs, "change", programs.repository, "--new-password-command", f"cat {new_file}", "--json")
    assert changed.json["changed"]["role"] == "password"
    assert [opens(storage(programs), secret) for secret in (PASSWORD, NEW.encode())] == [False, True]
    assert key(programs, "list", programs.repository).code == exits.WRONG_KEY


def test_the_key_in_use_needs_yes_and_the_last_one_stays(programs: Programs) -> None:
    listed = key(programs, "list", programs.repository, "--json").json["keys"]
    (own,) = [each for each in listed if each["in_use"]]
    assert key(programs, "remove", programs.repository, own["short_id"]).code == exits.USAGE
    assert key(programs, "remove", programs.repository, "recovery code").code == exits.DONE
    last = key(programs, "remove", programs.repository, own["id"], "--yes")
    assert (last.code, "last key" in last.err) == (exits.USAGE, True)
    assert opens(storage(programs), PASSWORD)


def test_a_new_recovery_code_is_shown_once_and_replaces_the_old(programs: Programs) -> None:
    first = key(programs, "recovery-code", programs.repository, "--json").json["recovery_code"]
    second = key(programs, "recovery-code", programs.repository, "--replace")
    assert second.code == exits.DONE
    code = second.out.removeprefix("recovery code: ").strip()
    assert "removed 2 earlier recovery codes" in second.err
    assert [opens(storage(programs), secret.encode()) for secret in (first, code)] == [False, True]


def test_a_code_that_could_not_be_printed_is_taken_back(programs: Programs) -> None:
    before = key(programs, "list", programs.repository, "--json").json["keys"]
    with Path("/dev/full").open("wb") as full:
        words = ["key", "recovery-code", str(programs.repository), "--replace"]
        finished = subprocess.run(
            [sys.executable, "-m", "repositories.cli", *words, "--password-file", str(programs.password_file)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=child_environment(),
            check=False,
        )
    assert (finished.returncode, "was removed again" in finished.stderr) == (exits.FAILED, True)
    assert key(programs, "list", programs.repository, "--json").json["keys"] == before


def test_rotate_names_what_ends_and_what_stays(programs: Programs, new_file: Path, tmp_path: Path) -> None:
    key(programs, "add", programs.repository, "--new-password-file", new_file, "--label", "laptop")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(os.urandom(100_000))
    assert programs.back_up(tree).code == exits.DONE
    rotated = key(programs, "rotate", programs.repository, "--yes", "--keep-file", programs.password_file, "--json")
    document = rotated.json
    assert (rotated.code, document["generation"], document["unreadable"]) == (exits.DONE, 2, [])
    assert [each["label"] for each in document["ended"]] == ["recovery code", "laptop"]
    assert [each["in_use"] for each in document["kept"]] == [True]
    listed = key(programs, "list", programs.repository, "--json").json["keys"]
    assert [each["id"] for each in document["kept"]] == [each["id"] for each in listed]
    assert not opens(storage(programs), NEW.encode())
    facts = programs.repo("info", programs.repository, "--json").json
    assert facts["packs_of_older_keys"] == facts["packs"] > 0
    assert facts["pack_bytes_of_older_keys"] == facts["pack_bytes"]
    assert "still under older keys" in programs.repo("info", programs.repository).out
    (tree / "other").write_bytes(os.urandom(100_000))
    assert programs.back_up(tree).code == exits.DONE
    assert programs.repo("check", programs.repository, "--read-data").code == exits.DONE
    told = key(programs, "rotate", programs.repository, "--yes", "--keep-file", programs.password_file)
    assert told.out.splitlines()[0].startswith("stays: password")
    assert "rotated to generation 3: 1 key kept, 0 ended, " in told.out
    assert "No recovery code stays" in told.err


def test_a_rotation_that_fails_says_that_nothing_has_ended(programs: Programs) -> None:
    """What is to end is told before, as that; nothing says that it has ended."""
    before = key(programs, "list", programs.repository, "--json").json["keys"]
    taken = programs.repository / "keychanges"
    for each in (taken, programs.repository / "intents"):
        shutil.rmtree(each, ignore_errors=True)
        each.write_bytes(b"no directory")
    failed = key(programs, "rotate", programs.repository, "--yes", "--keep-file", programs.password_file)
    assert failed.code != exits.DONE
    assert "to end: recovery code" in failed.err
    assert "No recovery code stays" not in failed.err
    assert failed.out == ""
    for each in (taken, programs.repository / "intents"):
        each.unlink()
    assert key(programs, "list", programs.repository, "--json").json["keys"] == before


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (StorageFullError("keyrings/x could not be written", hint="make room"), True),
        (KeysChangedError("another process changes the keys: nothing was changed", hint="wait"), False),
        (StorageUnreachableError("the server did not answer", hint="check the network"), False),
    ],
)
def test_a_rotation_that_fails_says_that_all_is_as_it_was_where_that_is_known(
    programs: Programs,
    monkeypatch: pytest.MonkeyPatch,
    failure: EngineError,
    told: bool,
) -> None:
    """Once, and not of a medium that did not answer: what it was asked for may be done."""

    def refuse(*_: object) -> None:
        raise failure

    monkeypatch.setattr("repositories.engine.keychain.rotate", refuse)
    failed = key(programs, "rotate", programs.repository, "--yes", "--keep-file", programs.password_file, "--json")
    assert (failed.code, failed.json["error"]["code"]) == (failure.exit_code, failure.code)
    assert failed.json["error"]["message"] == failure.message + ("; all keys are as they were" if told else "")
    assert failed.json["error"]["hint"] == failure.hint


def test_several_keys_that_stay_are_counted_as_keys(programs: Programs, new_file: Path) -> None:
    key(programs, "add", programs.repository, "--new-password-file", new_file, "--label", "laptop")
    words = ("--keep-file", programs.password_file, "--keep-file", new_file, "--yes")
    assert "2 keys kept, 1 ended" in key(programs, "rotate", programs.repository, *words).out


def test_rotate_ends_no_other_password_without_a_yes(programs: Programs, new_file: Path) -> None:
    """It cannot be undone: a machine whose password ends backs up no more."""
    key(programs, "add", programs.repository, "--new-password-file", new_file, "--label", "laptop")
    before = key(programs, "list", programs.repository, "--json").json
    refused = key(programs, "rotate", programs.repository, "--keep-file", programs.password_file, "--json")
    assert refused.code == exits.USAGE
    said = refused.json["error"]
    assert "laptop" in said["message"]
    assert "recovery code" in said["message"]
    assert "--yes" in said["hint"]
    assert key(programs, "list", programs.repository, "--json").json == before


def test_rotate_without_a_password_to_keep_changes_nothing(programs: Programs, new_file: Path) -> None:
    for words in ((), ("--keep-file", new_file), ("--keep-file", programs.directory / "absent")):
        assert key(programs, "rotate", programs.repository, *words).code == exits.USAGE
    assert key(programs, "list", programs.repository, "--json").json["generation"] == 1


def test_nothing_is_asked_off_a_terminal(programs: Programs) -> None:
    for verb in ("add", "change"):
        refused = key(programs, verb, programs.repository, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (exits.USAGE, "PASSWORD_MISSING")
        assert "--new-password-file" in refused.json["error"]["hint"]


@pytest.mark.parametrize(("second", "code"), [(NEW, exits.DONE), ("another", exits.USAGE)])
def test_a_new_password_is_asked_for_twice_and_not_shown(programs: Programs, second: str, code: int) -> None:
    parent, child = pty.openpty()
    words = ["key", "add", str(programs.repository), "--password-file", str(programs.password_file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "repositories.cli", *words],
        stdin=child,
        stdout=child,
        stderr=child,
        env=child_environment(),
        start_new_session=True,
    )
    os.close(child)
    shown = b""
    for question, answer in ((b"New password: ", NEW), (b"The same again: ", second)):
        while question not in shown:
            shown += os.read(parent, 1000)
        os.write(parent, answer.encode() + b"\n")
    assert process.wait(60) == code
    os.close(parent)
    assert NEW.encode() not in shown
    assert opens(storage(programs), NEW.encode()) == (code == exits.DONE)


def test_a_rotation_meanwhile_is_told(programs: Programs, monkeypatch: pytest.MonkeyPatch, new_file: Path) -> None:
    """Between opening and changing: a stable code, and nothing is changed."""

    def slow(*arguments: object) -> bytes:
        rotate(keychain(storage(programs)), [PASSWORD])
        return NEW.encode()

    monkeypatch.setattr(key_add, "read_added", slow)
    ended = programs.repo("key", "add", programs.repository, "--json")
    assert (ended.code, ended.json["error"]["code"]) == (exits.FAILED, KeysChangedError.code)
    assert not opens(storage(programs), NEW.encode())


def test_a_key_that_is_damaged_in_both_copies_is_named_and_ended(programs: Programs, new_file: Path) -> None:
    """3.11: check, repair and list name the way out, and it leads out."""
    added = key(programs, "add", programs.repository, "--new-password-file", new_file, "--json").json["added"]
    for path in programs.repository.rglob(f"*{added['id']}*"):
        path.chmod(0o600)
        path.write_bytes(b"bad")
    way_out = f"syncova-repo key remove LOCATION {added['short_id']} --yes"
    for ended in (
        programs.repo("check", programs.repository),
        programs.repo("repair", programs.repository),
    ):
        assert (ended.code, ended.err.count(way_out), "repair LOCATION" in ended.err) == (exits.INTEGRITY, 1, False)
    shown = key(programs, "list", programs.repository, "--json").json
    assert (shown["damaged_keys"], [each["id"] for each in shown["damaged"]]) == (1, [added["id"]])
    assert way_out in key(programs, "list", programs.repository).err
    refused = key(programs, "remove", programs.repository, added["short_id"])
    assert (refused.code, "give --yes" in refused.err) == (exits.USAGE, True)
    removed = key(programs, "remove", programs.repository, added["short_id"], "--yes", "--json")
    assert (removed.code, removed.json["removed"]["id"]) == (exits.DONE, added["id"])
    assert programs.repo("check", programs.repository).code == exits.DONE
