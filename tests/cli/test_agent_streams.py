"""syncova-agent backup --device and --stdin: what goes together, what reaches the command, what is told (2.7)."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agents.runtime.backup_options import Options
from agents.runtime.backup_sources import sources_of
from repositories.console import exits
from tests.cli.programs import Ended, Programs
from tests.cli.test_agent_backup import ROOT, backups
from tests.engine.loop_devices import attached
from tests.engine.process.children import group, wait_until
from tests.engine.trees import IS_ROOT, pattern


def back_up_output(programs: Programs, *command: str, words: tuple[str, ...] = ()) -> Ended:
    """Call the program as a shell does: everything after -- is the command's."""
    password = ["--password-file", str(programs.password_file)]
    options = ["-r", str(programs.repository), "--stdin", "db.sql", *password, *words]
    return programs.agent("backup", *options, "--", *command, secret=False)


def restored(programs: Programs) -> bytes:
    target = programs.directory / "target"
    ended = programs.agent("restore", "-r", programs.repository, "--backup", "latest", "--target", target)
    assert ended.code == exits.DONE, ended.err
    (path,) = target.iterdir()
    return path.read_bytes()


def test_the_output_of_a_command_is_backed_up(programs: Programs) -> None:
    ended = back_up_output(programs, "printf", "%s", "create table", words=("--json",))
    assert ended.code == exits.DONE
    (source,) = ended.json["sources"]
    assert source["source"].endswith(":stdin:db.sql")
    assert (source["path"], source["backup"]["files"]) == ("stdin:db.sql", 1)
    (listed,) = backups(programs)
    assert (listed["source_type"], listed["path"]) == ("stdin", "stdin:db.sql")
    assert restored(programs) == b"create table"
    shown = programs.repo("show", programs.repository, str(listed["short_id"]))
    assert "stdin:db.sql" in shown.out
    assert "db.sql" in programs.repo("ls", programs.repository, str(listed["short_id"])).out
    assert programs.repo("check", programs.repository, "--read-data").code == exits.DONE


def test_there_is_no_place_to_restore_it_in(programs: Programs) -> None:
    back_up_output(programs, "echo", "x")
    ended = programs.agent(
        "restore", "-r", programs.repository, "--backup", "latest", "--in-place", "--overwrite", "always"
    )
    assert ended.code == exits.FAILED
    assert "there is no place to restore it in" in ended.err


def test_all_words_after_the_dashes_are_the_commands(programs: Programs) -> None:
    """Also those that are options of ours, and a second pair of dashes."""
    words = ("--json", "-r", "/else", "--help", "--", "-v", "$HOME", "a b", "")
    ended = back_up_output(programs, "printf", "%s|", *words)
    assert ended.code == exits.DONE, ended.err
    assert "full" in ended.out
    assert restored(programs).decode().split("|")[:-1] == list(words)


def test_a_failing_command_fails_the_run(programs: Programs) -> None:
    ended = back_up_output(programs, "sh", "-c", "echo half; echo 'no such database' >&2; exit 3", words=("--json",))
    assert ended.code == exits.FAILED
    assert ended.json["error"]["code"] == "COMMAND_FAILED"
    assert "command sh ended with exit code 3: no such database" in ended.json["error"]["message"]
    assert ended.json["state"] == "failed"
    assert backups(programs) == []
    ended = back_up_output(programs, "no-such-program")
    assert ended.code == exits.FAILED
    assert "cannot be started: No such file or directory" in ended.err
    ended.assert_harmless()


def test_what_a_command_says_is_shown(programs: Programs) -> None:
    ended = back_up_output(programs, "sh", "-c", r"echo '\033[31mred' >&2; exit 1")
    assert r"warning: sh: \x1b[31mred" in ended.err
    ended.assert_harmless()
    assert "sh: fine" in back_up_output(programs, "sh", "-c", "echo fine >&2", words=("-v",)).err
    assert "fine" not in back_up_output(programs, "sh", "-c", "echo fine >&2", words=("-q",)).err


def test_an_emptied_output_is_refused(programs: Programs) -> None:
    back_up_output(programs, "echo", "data")
    ended = back_up_output(programs, "true", words=("--json",))
    assert (ended.code, ended.json["error"]["code"]) == (exits.FAILED, "SOURCE_EMPTY")
    assert "--accept-new-root" in ended.json["error"]["hint"]
    assert back_up_output(programs, "true", words=("--accept-new-root",)).code == exits.DONE


def test_the_command_runs_as_if_typed_but_without_our_secrets(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directory and variables are the caller's; what opens the repository is not among them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGPASSFILE", "/somewhere")
    monkeypatch.setenv("SYNCOVA_REPOSITORY_PASSWORD_FILE", str(programs.password_file))
    (tmp_path / "dump").write_text("#!/bin/sh\npwd; env\n")
    (tmp_path / "dump").chmod(0o700)
    words = ("-r", str(programs.repository), "--stdin", "x", "--", "./dump")
    assert programs.agent("backup", *words, secret=False).code == exits.DONE
    monkeypatch.delenv("SYNCOVA_REPOSITORY_PASSWORD_FILE")
    lines = restored(programs).decode().splitlines()
    assert lines[0] == str(tmp_path)
    assert "PGPASSFILE=/somewhere" in lines
    assert f"PATH={os.environ['PATH']}" in lines
    assert not [line for line in lines if line.startswith("SYNCOVA_")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--stdin", "x"), "--stdin needs a command"),
        (("--stdin", "x", "--"), "--stdin needs a command"),
        (("--stdin", "x", "--", ""), "is empty"),
        (("--stdin", "a/b", "--", "true"), "--stdin a/b cannot name a file"),
        (("--stdin", "", "--", "true"), "--stdin is empty"),
        (("--stdin", "..", "--", "true"), "cannot name a file"),
        (("--stdin", "x" * 256, "--", "true"), "cannot name a file"),
        (("--stdin", "x", "--path", "/", "--", "true"), "--stdin does not go with"),
        (("--stdin", "x", "--device", "/dev/x", "--", "true"), "--stdin does not go with"),
        (("--stdin", "x", "--exclude", "*.tmp", "--", "true"), "--exclude says something about a tree"),
        (("--device", "/dev/x", "--one-file-system"), "--one-file-system says something about a tree"),
        (("--path", "/x", "/y"), "'/y' is one word too many"),
        (("--device", ""), "--device is empty"),
        (("--device", "/dev/x", "--device", "/dev/y", "--source", "z"), "--source and --parent belong to one"),
    ],
)
def test_what_does_not_go_together(programs: Programs, words: tuple[str, ...], said: str) -> None:
    ended = programs.agent("backup", "-r", programs.repository, *words, secret=False)
    assert ended.code == exits.USAGE
    assert said in ended.err


def test_paths_and_devices_go_together(tmp_path: Path) -> None:
    """Each is a source of its own; one written twice is one."""
    sources = sources_of(Options(path=(str(tmp_path),), device=("/dev/a", "/dev//a", "/dev/b")), ("*.tmp",))
    assert [(each.key, each.type, each.path, each.excludes) for each in sources] == [
        ("0", "filesystem", bytes(tmp_path), ("*.tmp",)),
        ("1", "device", b"/dev/a", ()),
        ("2", "device", b"/dev/b", ()),
    ]
    assert sources[1].name.endswith(":/dev/a")


def test_a_file_is_no_device(programs: Programs, tmp_path: Path) -> None:
    (tmp_path / "disk.img").write_bytes(b"x")
    ended = programs.agent("backup", "-r", programs.repository, "--device", str(tmp_path / "disk.img"))
    assert ended.code == exits.USAGE
    assert "disk.img is a regular file, not a block device" in ended.err
    assert "--path" in ended.err


@pytest.mark.skipif(not IS_ROOT, reason="only root may attach loop devices")
def test_a_device_is_backed_up(programs: Programs, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(pattern(300_000) + bytes(748_576))
    with attached(image) as device:
        ended = programs.agent("backup", "-r", programs.repository, "--device", device, "--json")
    assert ended.code == exits.DONE
    assert ended.json["sources"][0]["source"].endswith(f":{device}")
    (listed,) = backups(programs)
    assert (listed["source_type"], listed["path"], listed["logical_bytes"]) == ("device", str(device), 1_048_576)
    assert restored(programs) == image.read_bytes()


@pytest.mark.skipif(not IS_ROOT, reason="only root may attach loop devices")
def test_an_image_is_written_back_to_a_device(programs: Programs, tmp_path: Path) -> None:
    """As docs/sources.md says: what `dump` prints is what the device held."""
    image, other = tmp_path / "image", tmp_path / "other"
    image.write_bytes(pattern(300_000) + bytes(748_576))
    other.write_bytes(pattern(1_048_576, 2))
    with attached(image) as device:
        assert programs.agent("backup", "-r", programs.repository, "--device", device).code == exits.DONE
    words = ["dump", "--password-file", programs.password_file, programs.repository, "latest", device.name]
    with attached(other, writable=True) as device, device.open("r+b") as opened:
        program = [sys.executable, "-m", "repositories.cli", *map(str, words)]
        assert subprocess.run(program, cwd=ROOT, stdout=opened, check=False).returncode == exits.DONE
        os.fsync(opened.fileno())
    assert other.read_bytes() == image.read_bytes()


@pytest.mark.parametrize("words", [("--stdin", "x", "--", "touch"), ("--device", "/dev/x")])
def test_a_dry_run_is_refused_and_runs_nothing(programs: Programs, tmp_path: Path, words: tuple[str, ...]) -> None:
    made = tmp_path / "made"
    command = (str(made),) if "--" in words else ()
    password = ("--password-file", str(programs.password_file))
    ended = programs.agent("backup", "-r", programs.repository, "--dry-run", *password, *words, *command, secret=False)
    assert ended.code == exits.USAGE
    assert "has no dry run" in ended.err
    assert not made.exists()
    assert backups(programs) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_command_ends_with_the_program(programs: Programs, tmp_path: Path, number: int) -> None:
    known = tmp_path / "pid"
    words = ["backup", "-r", str(programs.repository), "--password-file", str(programs.password_file), "--json"]
    command = ["--stdin", "x", "--", "sh", "-c", f"echo $$ > {known}; sleep 600 | sleep 601"]
    program = subprocess.Popen(
        [sys.executable, "-m", "agents.runtime", *words, *command], cwd=ROOT, stdout=subprocess.PIPE
    )
    wait_until(lambda: known.exists() and known.read_text().endswith("\n"))
    leader = int(known.read_text())
    wait_until(lambda: len(group(leader)) == 3)
    program.send_signal(number)
    out, _ = program.communicate()
    wait_until(lambda: group(leader) == [])
    if number == signal.SIGTERM:
        assert program.returncode == exits.TERMINATED
        assert json.loads(out)["error"]["code"] == "INTERRUPTED"
    assert backups(programs) == []
