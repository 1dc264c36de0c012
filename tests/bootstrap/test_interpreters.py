"""The Python that is picked: the newest supported one that really runs, else a line that says what to install."""

import ast
import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bootstrap import interpreters
from bootstrap.failures import BootstrapError
from tests.bootstrap.trial import SOURCE, Trial, environment

LINUX: dict[str, Any] = {
    "executable": "/usr/bin/python3",
    "version": [3, 11, 0],
    "system": "linux",
    "machine": "x86_64",
    "bits": 64,
    "libc": "glibc 2.28",
    "implementation": "CPython",
    "gil": True,
}
MAC: dict[str, Any] = {**LINUX, "system": "darwin", "machine": "arm64", "libc": ""}


def stub(directory: Path, name: str, script: str) -> None:
    """Put a program on a search path."""
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def python_stub(directory: Path, name: str, **differs: object) -> None:
    """Put a program on a search path that answers like such a Python."""
    answer = json.dumps({**LINUX, "executable": str(directory / name), **differs})
    stub(directory, name, f"echo '{answer}'")


def test_the_newest_that_runs_is_picked(tmp_path: Path) -> None:
    python_stub(tmp_path / "a", "python3.11", version=[3, 11, 9])
    stub(tmp_path / "a", "python3.14", "echo 'shim: not installed' >&2; exit 127")
    stub(tmp_path / "a", "python3", "echo nonsense")
    python_stub(tmp_path / "b", "python3.13", version=[3, 13, 1])
    python_stub(tmp_path / "b", "python3.15", version=[3, 15, 0])
    picked = interpreters.pick(f"{tmp_path / 'a'}:relative::{tmp_path / 'b'}:/nowhere")
    assert picked.executable == str(tmp_path / "b/python3.13")


def test_a_shim_that_waits_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "PROBE_SECONDS", 0.2)
    stub(tmp_path, "python3.12", "exec sleep 60")
    assert interpreters.probe(str(tmp_path / "python3.12")) is None


@pytest.mark.parametrize(
    ("differs", "reason"),
    [
        ({"version": (3, 10, 4)}, "3.10.4 is not 3.11 to 3.14"),
        ({"implementation": "PyPy"}, "not the usual CPython"),
        ({"gil": False}, "not the usual CPython"),
        ({"libc": "glibc 2.27"}, "glibc 2.27"),
        ({"libc": ""}, "another C library"),
        ({"machine": "riscv64"}, "linux on riscv64"),
        ({"bits": 32}, "32 bits"),
        ({"system": "darwin"}, "darwin on x86_64"),
        ({"system": "freebsd14"}, "freebsd14"),
    ],
)
def test_what_syncova_does_not_run_on_is_refused(differs: Mapping[str, Any], reason: str) -> None:
    assert reason in interpreters.refusal(interpreters.Interpreter(**{**LINUX, "version": (3, 11, 0), **differs}))


@pytest.mark.parametrize("fields", [LINUX, {**LINUX, "machine": "aarch64", "libc": "glibc 2.41"}, MAC])
def test_supported_platforms_are_accepted(fields: Mapping[str, Any]) -> None:
    for minor in range(11, 15):
        assert interpreters.refusal(interpreters.Interpreter(**{**fields, "version": (3, minor, 0)})) == ""


def test_an_old_python_alone_names_what_to_install(tmp_path: Path) -> None:
    python_stub(tmp_path, "python3", version=[3, 9, 2])
    with pytest.raises(BootstrapError, match=r"needs Python 3\.11 to 3\.14; found 3\.9\.2 .*; install one"):
        interpreters.pick(str(tmp_path))


def test_an_unsupported_platform_is_said_before_anything_is_made(tmp_path: Path) -> None:
    python_stub(tmp_path, "python3", libc="")
    with pytest.raises(BootstrapError, match=r"unsupported platform: .*; Syncova runs on Linux with glibc 2\.28"):
        interpreters.pick(str(tmp_path))


@pytest.mark.parametrize(
    ("os_release", "line"),
    [
        ('ID=debian\nVERSION_ID="12"\n', "sudo apt-get install -y python3"),
        ('ID=ubuntu\nVERSION_ID="22.04"\nID_LIKE=debian\n', "sudo apt-get install -y python3.11"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "sudo dnf install -y python3.12"),
        ('ID=opensuse-leap\nID_LIKE="suse opensuse"\n', "sudo zypper install -y python311"),
        ("ID=linuxmint\nID_LIKE=ubuntu\n", "sudo apt-get install -y python3"),
        ("ID=unheard\n", ""),
    ],
)
def test_the_install_line_fits_the_distribution(os_release: str, line: str) -> None:
    assert interpreters.install_line(os_release, "linux") == line


def test_the_install_line_of_macos() -> None:
    assert interpreters.install_line("", "darwin").startswith("brew install python@3.")


def bare_path(directory: Path) -> Path:
    """Return a search path that has what the shell half needs and no Python."""
    directory.mkdir()
    for name in ("sleep", "uname"):
        (directory / name).symlink_to(str(shutil.which(name)))
    return directory


def test_no_python_at_all_is_said_in_one_line(trial: Trial, tmp_path: Path) -> None:
    path = bare_path(tmp_path / "bin")
    stub(path, "python3", "exit 127")
    done = trial.run("manage", PATH=str(path))
    assert done.returncode == 1
    assert done.stderr.startswith("syncova: no Python that runs was found on PATH; install Python 3.11 or newer")
    assert done.stderr.count("\n") == 1
    known = interpreters.install_line(interpreters._read("/etc/os-release"), os.uname().sysname.lower())
    assert known in done.stderr


def test_a_waiting_shim_does_not_stop_the_start(trial: Trial, tmp_path: Path) -> None:
    path = bare_path(tmp_path / "bin")
    stub(path, "python3", "exec sleep 600")
    usable = interpreters.pick(environment(trial.wheels, tmp_path)["PATH"]).executable
    stub(path, "python3.11", f'exec "{usable}" "$@"')
    begun = time.monotonic()
    assert trial.told("manage", PATH=str(path))["packages"] == ["pip", "trial-base"]
    assert time.monotonic() - begun < 600


def test_every_file_of_the_bootstrap_parses_on_python_3_6() -> None:
    for source in (*(SOURCE / "bootstrap").glob("*.py"), SOURCE / "syncova"):
        ast.parse(source.read_text(encoding="utf-8"), str(source), feature_version=(3, 6))


def test_an_older_python_that_is_there_can_start_it(trial: Trial) -> None:
    """Python 3.6 to 3.10 may be the first on PATH: it only has to find the right one."""
    found = (shutil.which(f"python3.{minor}") for minor in range(6, 11))
    old = [name for name in found if name and subprocess.run([name, "-c", ""], capture_output=True).returncode == 0]
    for python in old or [str(shutil.which("python3"))]:
        command = [python, "-I", "-S", "-B", str(trial.clone / "syncova"), "--version"]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("syncova ")
