"""The command line of ./syncova itself: names, help, version, and what the developers' commands run in."""

import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from bootstrap import commands, sandbox
from bootstrap.failures import BootstrapError
from tests.bootstrap.trial import SOURCE, Trial, environment

FIXED = "demo up down status logs test lint bench shell manage ctl repo agent migrate check wheels"


def test_help_needs_no_environment_and_names_every_command(trial: Trial) -> None:
    done = trial.run("--help")
    assert done.returncode == 0
    assert [name for name in FIXED.split() if f"\n  {name} " not in done.stdout] == []
    assert "examples:" in done.stdout
    assert done.stdout.isascii(), "a terminal in another encoding could not show it"
    assert not (trial.clone / ".venv").exists()


def test_no_command_shows_the_help_and_is_an_error(trial: Trial) -> None:
    done = trial.run()
    assert (done.returncode, done.stdout) == (2, trial.run("-h").stdout)


def test_version_is_the_projects(trial: Trial) -> None:
    version = re.findall(r'^version = "(.+)"$', (SOURCE / "pyproject.toml").read_text(), re.MULTILINE)
    assert trial.run("--version").stdout == f"syncova {version[0]}\n"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("demp", "did you mean demo?"),
        ("bogus", "./syncova --help lists them"),
        ("rep", "did you mean repo?"),
        ("wheel", "did you mean wheels?"),
        ("xyzzy", "--help"),
    ],
)
def test_an_unknown_command_names_the_nearest(trial: Trial, typed: str, said: str) -> None:
    done = trial.run(typed)
    assert done.returncode == 2
    assert done.stderr.startswith(f"syncova: unknown command '{typed}'")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_with_json_programs_are_told_too(trial: Trial) -> None:
    done = trial.run("bogus", "--json")
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert (error["code"], done.stderr) == ("USAGE", f"syncova: {error['message']}\n")


@pytest.mark.parametrize(("redirection", "reason"), [(">/dev/full", "No space left"), (">&-", "Bad file descriptor")])
def test_output_that_cannot_be_written_is_said_in_one_line(trial: Trial, redirection: str, reason: str) -> None:
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", *trial.command("--help")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"syncova: cannot write to standard output: {reason}")
    assert done.stderr.count("\n") == 1


def test_a_program_gets_a_stand_in_for_a_closed_stream(installed: Trial) -> None:
    """The next file that it opens must not become its standard output."""
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *installed.command("manage")]
    done = subprocess.run(
        command, env=environment(installed.wheels, installed.clone, {}), capture_output=True, text=True, check=False
    )
    assert "Bad file descriptor" in done.stderr
    assert "AttributeError" not in done.stderr


@pytest.mark.parametrize("arguments", [("--what",), ("wheels",), ("wheels", "a", "b"), ("wheels", "d", "--layer", "x")])
def test_wrong_arguments_are_usage_errors(trial: Trial, arguments: tuple[str, ...]) -> None:
    assert trial.run(*arguments).returncode == 2


def test_each_command_installs_only_what_it_needs() -> None:
    needs = {command.name: command.layer for command in commands.COMMANDS}
    assert {needs["repo"], needs["agent"], needs["check"]} == {"base"}
    assert {needs["up"], needs["demo"]} == {"embedded"}
    assert {needs["test"], needs["lint"]} == {"dev"}


def test_the_programs_of_the_commands_exist() -> None:
    for command in commands.COMMANDS:
        flag, name = (*command.program, "")[:2]
        place = SOURCE / (name.replace(".", "/") if flag == "-m" else flag.format(clone=SOURCE))
        inside = [place / "__main__.py", place.with_suffix(".py"), place]
        assert name == "pytest" or any(each.is_file() for each in inside), command.name


def test_tests_run_in_the_clone_and_know_no_server_of_the_environment(installed: Trial, tmp_path: Path) -> None:
    """Design, section 4: `test` never touches servers that the environment names."""
    told = installed.told(
        "bench",
        cwd=tmp_path,
        SYNCOVA_DATABASE_URL="postgresql://real/production",
        SYNCOVA_BROKER_URL_FILE="/etc/broker",
        DJANGO_SETTINGS_MODULE="other",
        SYNCOVA_SERVICE_USER="backup",
        TMPDIR="/tmp",
    )
    variables = told["environment"]
    names = {name for name in variables if name.startswith(("SYNCOVA_", "DJANGO_"))}
    assert names == {"SYNCOVA_SERVICE_USER"}
    assert told["cwd"] == str(installed.clone)
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        assert variables[name].startswith(f"{installed.clone}/.syncova-test/")


@pytest.fixture
def open_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory that counts as one that every user may enter."""
    monkeypatch.setattr(sandbox, "_others_may_pass", lambda directory: True)
    return tmp_path


def test_temporary_files_lie_in_the_clone(open_clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(open_clone)
    variables = sandbox.enter(str(open_clone), {"TMPDIR": "/tmp"})
    assert variables["TMPDIR"] == str(open_clone / ".syncova-test/tmp")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's tests become other users")
def test_in_a_private_home_of_root_temporary_files_lie_outside_and_another_users_are_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    place = Path(sandbox._temporary_place(str(tmp_path)))
    try:
        assert place.parent == Path("/var/tmp")
        assert stat.S_IMODE(place.stat().st_mode) == 0o711
        os.chown(place, 65534, 65534)
        with pytest.raises(BootstrapError, match="is not root's"):
            sandbox._temporary_place(str(tmp_path))
    finally:
        place.rmdir()


def test_directories_of_killed_test_runs_are_removed(open_clone: Path) -> None:
    place = open_clone / ".syncova-test"
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in (f"t{gone.pid}", f"t{os.getppid()}", "tmp", "tx"):
        (place / name / "inside").mkdir(parents=True)
    assert sandbox.session_directory(str(open_clone)) == str(place / f"t{os.getpid()}")
    assert {each.name for each in place.iterdir()} == {f"t{os.getppid()}", "tmp", "tx"}


def test_the_product_is_not_run_in_that_sandbox(installed: Trial) -> None:
    told = installed.told("manage", SYNCOVA_DATABASE_URL="postgresql://mine", TMPDIR="/var/tmp")
    assert told["environment"]["SYNCOVA_DATABASE_URL"] == "postgresql://mine"
    assert told["environment"]["TMPDIR"] == "/var/tmp"
