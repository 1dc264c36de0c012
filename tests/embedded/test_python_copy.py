"""Copies for the service user, who may not enter the home that clone and Python lie in (1.17); no mode is changed."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from syncova_project.embedded import accounts, programs, python_copy
from tests import private_servers

pytestmark = private_servers.as_root


@pytest.fixture(scope="module")
def account() -> accounts.Account:
    return accounts.service_account(None)


@pytest.fixture(scope="module")
def directory(session_directory: Path) -> Path:
    return private_servers.layout_in(session_directory / "copies")[0].programs


def run_as(account: accounts.Account, argv: list[str], variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        argv,
        user=account.uid,
        group=account.gid,
        extra_groups=[],
        env=variables,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_clone_in_a_closed_home_runs_as_the_service_user(account, directory, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for name in python_copy.PACKAGES:
        shutil.copytree(python_copy.CLONE / name, home / "clone" / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(python_copy, "CLONE", home / "clone")
    interpreter = python_copy.interpreter_for(account, directory)
    code = "import os, django, celery, gunicorn, jobs, syncova_project; print(os.getuid(), syncova_project.__file__)"
    done = run_as(account, [*interpreter.argv, "-c", code], interpreter.variables)
    assert done.stdout.split() == [str(account.uid), str(directory / "project" / "syncova_project" / "__init__.py")]
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_the_service_user_can_change_none_of_its_programs(account, directory):
    python_copy.interpreter_for(account, directory)
    programs.programs_for(account, directory)
    paths = [path for path in directory.rglob("*") if not path.is_symlink()]
    assert len(paths) > 100
    assert {path.stat().st_uid for path in paths} == {0}
    assert [path for path in paths if path.stat().st_mode & 0o027] == []


def test_libraries_in_a_closed_directory_are_copied_and_refreshed_when_they_change(account, directory, tmp_path):
    libraries = tmp_path / "site-packages"
    libraries.mkdir(mode=0o700)
    (libraries / "one.py").write_text("1")
    target = directory / "libraries"
    assert python_copy._readable(account, libraries, target) == target
    assert (target / "one.py").read_text() == "1"
    (target / "mark").touch()
    python_copy._readable(account, libraries, target)
    assert (target / "mark").exists(), "nothing changed, so nothing is copied again"
    (libraries / "one.py").write_text("two")
    python_copy._readable(account, libraries, target)
    assert (target / "one.py").read_text() == "two"
    assert not (target / "mark").exists()


def test_a_copy_that_was_cut_short_is_made_again(account, directory):
    def fill(target: Path) -> None:
        (target / "file").write_text("whole")

    programs.refreshed_copy(directory / "cut", "stamp", fill, account)
    (directory / "cut" / ".complete").unlink()
    (directory / "cut" / "file").write_text("half")
    programs.refreshed_copy(directory / "cut", "stamp", fill, account)
    assert (directory / "cut" / "file").read_text() == "whole"


def test_an_account_passes_only_where_the_modes_let_it(account, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    assert accounts.closed_directory(account, closed / "below") is not None
    assert not accounts.can_read(account, closed)
    assert accounts.closed_directory(account, Path("/usr/bin/env")) is None
    assert accounts.can_read(account, Path("/usr/bin/env"))
