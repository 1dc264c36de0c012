"""Where passwords come from, and that none is taken from a place that others can read."""

import os
import pty
import sys
from pathlib import Path

import pytest

from repositories.console.failures import CommandError, PasswordMissingError, PasswordUnreadableError
from repositories.console.options import RepositoryOptions
from repositories.console.passwords import read_password, warn_if_public
from repositories.console.terminal import Terminal

ROOT = Path(__file__).parents[2]
ASK = """
import sys
from repositories.console.failures import CommandError
from repositories.console.options import RepositoryOptions
from repositories.console.passwords import read_new_password
from repositories.console.terminal import Terminal
try:
    sys.exit(0 if read_new_password(RepositoryOptions(), Terminal()) == "same" else 1)
except CommandError:
    sys.exit(2)
"""
VARIABLE = "SYNCOVA_REPOSITORY_PASSWORD"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv(f"{VARIABLE}_FILE", raising=False)


def secret_file(tmp_path: Path, content: bytes, mode: int = 0o600) -> str:
    path = tmp_path / "password"
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def read(**options: object) -> str:
    return read_password(RepositoryOptions(**options), Terminal())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content", [b"h\xc3\xbcgel 7", b"h\xc3\xbcgel 7\n", b"h\xc3\xbcgel 7\r\n", b"h\xc3\xbcgel 7\nmore"]
)
def test_the_first_line_of_the_file_is_the_password(tmp_path: Path, content: bytes) -> None:
    assert read(password_file=secret_file(tmp_path, content)) == "hügel 7"


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "empty"), (b"\n", "empty"), (b"\xff", "UTF-8"), (b"x" * 70_000, "more")]
)
def test_files_that_hold_no_password_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(PasswordUnreadableError, match=reason):
        read(password_file=secret_file(tmp_path, content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PasswordUnreadableError, match="No such file"):
        read(password_file=str(tmp_path / "missing"))


def test_a_file_that_others_may_read_is_used_with_a_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert read(password_file=secret_file(tmp_path, b"secret", mode=0o644)) == "secret"
    assert "chmod 600" in capfd.readouterr().err


def test_a_program_may_give_the_password_and_no_shell_sees_it(tmp_path: Path) -> None:
    assert read(password_command=f"{sys.executable} -c \"print('from a program')\"") == "from a program"
    marker = tmp_path / "ran"
    with pytest.raises(PasswordUnreadableError):
        read(password_command=f"false; touch {marker}")
    assert not marker.exists()


@pytest.mark.parametrize("command", ["", "'", "/nonexistent/program", "false", "true"])
def test_programs_that_give_none_are_refused(command: str) -> None:
    with pytest.raises(PasswordUnreadableError):
        read(password_command=command)


def test_the_environment_names_a_password_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "from the environment")
    assert read() == "from the environment"
    assert read(password_file=secret_file(tmp_path, b"the option wins")) == "the option wins"
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv(f"{VARIABLE}_FILE", secret_file(tmp_path, b"from a file\n"))
    assert read() == "from a file"


def test_a_password_that_is_no_text_is_refused_wherever_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "\udcff")
    with pytest.raises(PasswordUnreadableError, match="not UTF-8 text"):
        read()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr("getpass.getpass", lambda _: "\udcff")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with pytest.raises(PasswordUnreadableError, match="not UTF-8 text"):
        read()


def test_two_ways_at_once_are_refused() -> None:
    with pytest.raises(CommandError, match="exclude each other"):
        read(password_command="true", insecure_no_password=True)


def test_the_empty_password_needs_its_option(capfd: pytest.CaptureFixture[str]) -> None:
    """A5: no secrecy only when asked for; what it opens or makes is what the warning is about, not the option."""
    assert read(insecure_no_password=True) == ""
    assert capfd.readouterr().err == ""
    warn_if_public("", Terminal())
    assert "not secret" in capfd.readouterr().err


def test_without_a_terminal_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    read_end, write_end = os.pipe()
    os.close(write_end)
    with os.fdopen(read_end) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(PasswordMissingError) as caught:
            read()
    assert "--password-file" in caught.value.hint


@pytest.mark.parametrize(("second", "fits"), [(b"same\n", True), (b"other\n", False)])
def test_a_new_password_is_asked_twice_on_a_terminal_and_not_shown(second: bytes, *, fits: bool) -> None:
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execve(sys.executable, [sys.executable, "-c", ASK], {"PATH": os.defpath})
    shown = answer(screen, [b"same\n", second])
    _, status = os.waitpid(pid, 0)
    os.close(screen)
    assert os.waitstatus_to_exitcode(status) == (0 if fits else 2)
    assert b"same" not in shown.replace(b"The same again", b"")


def answer(screen: int, lines: list[bytes]) -> bytes:
    """Type a line each time a question stands on the screen; return all that was shown."""
    shown = b""
    for line in lines:
        before = len(shown)
        while not shown[before:].rstrip(b" ").endswith(b":"):
            shown += os.read(screen, 1024)
        os.write(screen, line)
    try:
        while block := os.read(screen, 1024):
            shown += block
    except OSError:
        # The other side of a pseudo terminal is closed: there is no more.
        pass
    return shown


def test_an_unbalanced_quote_is_called_so() -> None:
    with pytest.raises(PasswordUnreadableError, match="cannot be taken apart: no closing quotation"):
        read(password_command="'unbalanced")
