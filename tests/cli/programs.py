"""Calls the programs in this process, and hostile trees for them to show."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agents.runtime.program import main as agent_main
from repositories.cli.program import main as repo_main
from tests.engine.repositories import PASSWORD, local_repository

HOSTILE = [
    b"new\nline",
    b"\x1b[31mred\x1b[0m",
    b"\x07bell\x7f",
    "rtl\u202egpj.exe".encode(),
    "isolate\u2066\u2069".encode(),
    "zero\u200bwidth".encode(),
    b"invalid\xff\xfe",
    b"back\\slash",
    b"[bold red]markup[",
    b":smiley: {x} %s $(id) `id`",
    b"-rf",
    b" space ",
    "Gr\u00fc\u00dfe \u65e5\u672c".encode(),
]
MARKUP = (b"a[", b"b].txt")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        lines = self.out.splitlines()
        assert self.out.endswith("\n")
        value = json.loads(self.out)
        assert isinstance(value, dict), lines
        return value

    def assert_harmless(self) -> None:
        """No byte of it can move a cursor, change a colour, turn a direction or break a line."""
        for text in (self.out, self.err):
            for line in text.split("\n"):
                assert line.isprintable(), repr(line)


class Programs:
    """Both programs with the password of one repository at hand."""

    def __init__(self, directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self.repository = directory / "repo"
        self._capfd = capfd
        self.password_file = directory / "password"
        self.password_file.write_bytes(PASSWORD + b"\n")
        self.password_file.chmod(0o600)

    def repo(self, verb: str, *words: str | Path, secret: bool = True) -> Ended:
        """Call syncova-repo."""
        return self._call(repo_main, verb, words, secret=secret)

    def agent(self, verb: str, *words: str | Path, secret: bool = True) -> Ended:
        """Call syncova-agent."""
        return self._call(agent_main, verb, words, secret=secret)

    def back_up(self, *paths: Path, words: tuple[str, ...] = ()) -> Ended:
        """Back up paths into the repository."""
        options = [word for path in paths for word in ("--path", str(path))]
        return self.agent("backup", "-r", self.repository, *options, *words)

    def _call(
        self, main: Callable[[list[str]], int], verb: str, words: tuple[str | Path, ...], *, secret: bool
    ) -> Ended:
        self._capfd.readouterr()
        password = ["--password-file", str(self.password_file)] if secret else []
        code = main([verb, *map(str, words), *password])
        out, err = self._capfd.readouterr()
        return Ended(code, out, err)


def make_programs(directory: Path, capfd: pytest.CaptureFixture[str]) -> Programs:
    """Return the programs with a repository made cheaply."""
    programs = Programs(directory, capfd)
    local_repository(programs.repository)
    return programs


def hostile_tree(path: Path) -> Path:
    """Make a tree whose names attack whoever prints them; each holds its own name."""
    path.mkdir()
    for name in HOSTILE:
        full = os.path.join(bytes(path), name)
        Path(os.fsdecode(full)).write_bytes(name)
    inner = os.path.join(bytes(path), MARKUP[0])
    os.mkdir(inner)
    Path(os.fsdecode(os.path.join(inner, MARKUP[1]))).write_bytes(b"markup")
    os.symlink(b"\x1b[2J\xff target", os.path.join(bytes(path), b"link"))
    return path
