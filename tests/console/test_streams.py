"""Standard output that is full or closed: one line that says so, no traceback, and nothing lost without a word."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.process.spawn import child_environment
from tests.cli.programs import Programs, make_programs

FULL, CLOSED = ">/dev/full", ">&-"
WAYS = ((FULL, "No space left on device"), (CLOSED, "Bad file descriptor"))


@pytest.fixture
def programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Programs:
    return make_programs(tmp_path, capfd)


def run(programs: Programs, redirection: str, module: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program below a shell that redirects it."""
    command = [sys.executable, "-P", "-m", module, *words, "--password-file", programs.password_file]
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *map(str, command)],
        env={**child_environment(), "HOME": str(programs.directory)},
        capture_output=True,
        text=True,
        check=False,
    )


def assert_told(done: subprocess.CompletedProcess[str], reason: str) -> None:
    assert done.returncode == exits.FAILED
    error, *hints = done.stderr.splitlines()
    assert error.startswith("error: "), done.stderr
    assert reason in error
    assert all(line.startswith("hint: ") for line in hints)


@pytest.mark.parametrize(("redirection", "reason"), WAYS)
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_result_that_cannot_be_written_is_told(
    programs: Programs, redirection: str, reason: str, words: tuple[str, ...]
) -> None:
    assert_told(run(programs, redirection, "repositories.cli", "list", programs.repository, *words), reason)


@pytest.mark.parametrize(("redirection", "reason"), WAYS)
def test_what_the_program_says_of_itself_counts_too(programs: Programs, redirection: str, reason: str) -> None:
    assert_told(run(programs, redirection, "repositories.cli", "list", "--help"), reason)


@pytest.mark.parametrize(("redirection", "reason"), [*WAYS, ("| true", "Broken pipe")])
def test_a_recovery_code_is_not_lost_without_a_word(programs: Programs, redirection: str, reason: str) -> None:
    """1.15: it is shown once, so that a repository without it must be known for one."""
    for number, words in enumerate(((), ("--json",))):
        location = programs.directory / f"new-{number}"
        done = run(programs, redirection, "repositories.cli", "create", location, *words)
        assert "recovery code could not be written" in done.stderr
        assert reason in done.stderr
        assert str(location) in done.stderr
        assert programs.repo("list", location).code == exits.DONE
        assert "syncova-repo key recovery-code LOCATION --replace makes a new code" in done.stderr


def test_the_way_out_of_a_lost_recovery_code_locks_nobody_out(programs: Programs) -> None:
    """What is told leads to one code, which opens, beside the password, which still does."""
    location = programs.directory / "new"
    run(programs, "| true", "repositories.cli", "create", location)
    made = run(programs, "", "repositories.cli", "key", "recovery-code", location, "--replace", "--json")
    code = programs.directory / "code"
    code.touch(mode=0o600)
    code.write_text(json.loads(made.stdout)["recovery_code"])
    listed = programs.repo("key", "list", location, "--json").json["keys"]
    assert sorted(each["role"] for each in listed) == ["password", "recovery_code"]
    assert programs.repo("list", location, "--password-file", code, secret=False).code == exits.DONE


def test_a_backup_runs_without_any_stream(programs: Programs) -> None:
    """Files that are opened get no number of a closed stream: nothing is written into them."""
    (programs.directory / "tree").mkdir()
    (programs.directory / "tree" / "file").write_text("content")
    words = ("backup", "-r", programs.repository, "--path", programs.directory / "tree")
    run(programs, "<&- >&- 2>&-", "agents.runtime", *words)
    assert programs.repo("check", programs.repository, "--read-data").code == exits.DONE
    assert len(programs.repo("list", programs.repository, "--json").json["backups"]) == 1


def test_errors_that_nobody_can_read_do_not_stop_the_work(programs: Programs) -> None:
    done = run(programs, "2>/dev/full", "repositories.cli", "list", programs.repository, "--insecure-no-password")
    assert done.returncode == exits.USAGE
    assert "no backups" in run(programs, "2>/dev/full", "repositories.cli", "list", programs.repository).stdout
