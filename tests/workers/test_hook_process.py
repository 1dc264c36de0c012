"""One hook's process: it ends with whoever wanted it, by whatever signal, and holds nobody up (6.4)."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from syncova_project import clock
from tests.workers.harness import PROJECT
from workers.hook_file import Hook
from workers.hook_process import HookEnd, run_hook

SUPERVISOR = """
import sys
from workers.hook_file import Hook
from workers.hook_process import run_hook
run_hook(Hook("held", tuple(sys.argv[1:])), environment={}, seconds=60, say=print, stop=lambda: False)
"""


def program(directory: Path, body: str) -> str:
    place = directory / "hook"
    place.write_text(f"#!/bin/sh\n{body}\n")
    place.chmod(stat.S_IRWXU)
    return str(place)


def ended(directory: Path, body: str, seconds: float = 20.0) -> HookEnd:
    hook = Hook("one", (program(directory, body),))
    return run_hook(hook, environment={"PATH": os.defpath}, seconds=seconds, say=print, stop=lambda: False)


def gone(pid: int) -> bool:
    """Tell whether the process has ended; one that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def wait_for(told: Path, count: int) -> list[int]:
    for _ in range(3000):
        if told.exists() and len(pids := told.read_text().split()) == count:
            return [int(pid) for pid in pids]
        clock.sleep(0.01)
    pytest.fail("the hook never ran")


@pytest.mark.parametrize(
    ("number", "stubborn"), [(signal.SIGKILL, False), (signal.SIGTERM, False), (signal.SIGKILL, True)]
)
def test_a_hook_ends_with_its_supervisor(tmp_path: Path, number: signal.Signals, *, stubborn: bool) -> None:
    """Also what it has begun itself, and where it does not obey: the medium that it holds is another run's now."""
    told = tmp_path / "pids"
    trap = "trap '' TERM\n" if stubborn else ""
    hook = program(tmp_path, f"{trap}sleep 60 &\necho $$ $! > {told}\nsleep 60")
    supervisor = subprocess.Popen([sys.executable, "-c", SUPERVISOR, hook], cwd=PROJECT)
    pids = wait_for(told, 2)
    assert not any(gone(pid) for pid in pids)
    os.kill(supervisor.pid, number)
    supervisor.wait()
    for _ in range(3000):
        if all(gone(pid) for pid in pids):
            return
        clock.sleep(0.01)
    pytest.fail("the hook outlived its supervisor")


@pytest.mark.parametrize("code", [0, 7, 255])
def test_the_exit_code_is_the_hooks_own(tmp_path: Path, code: int) -> None:
    assert ended(tmp_path, f"exit {code}").exit_code == code


def test_a_hook_that_a_signal_ends_says_which(tmp_path: Path) -> None:
    assert ended(tmp_path, "kill -SEGV $$").exit_code == -signal.SIGSEGV


def test_what_leaves_its_session_holds_nobody_up(tmp_path: Path) -> None:
    """A daemon that keeps all its file descriptors: the hook has ended all the same."""
    end = ended(tmp_path, f"setsid sleep 5 & echo $! > {tmp_path}/pid\nexit 3", seconds=4)
    assert (end.exit_code, end.timed_out) == (3, False)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("argv", [("/nowhere/hook",), ("/etc/passwd",)])
def test_what_cannot_be_started_says_why(argv: tuple[str, ...]) -> None:
    with pytest.raises(OSError, match=r"No such file|Permission denied"):
        run_hook(Hook("none", argv), environment={}, seconds=5, say=print, stop=lambda: False)


def test_a_hook_gets_its_own_environment_and_default_signals(tmp_path: Path) -> None:
    """Python ignores SIGPIPE, and its programs would inherit that: `dump | head` would never end."""
    lines: list[str] = []
    hook = Hook("env", (program(tmp_path, "env\ngrep SigIgn /proc/self/status\nreadlink /proc/self/fd/0\npwd"),))
    environment = {"SYNCOVA_RUN_ID": "7", "PATH": os.defpath, "LANG": "C.UTF-8"}
    run_hook(hook, environment=environment, seconds=20, say=lines.append, stop=lambda: False)
    told = {line for line in lines if not line.startswith(("_=", "PWD=", "SHLVL="))}
    handed = {f"{name}={value}" for name, value in environment.items()}
    assert told == handed | {"SigIgn:\t0000000000000000", "/dev/null", "/"}
