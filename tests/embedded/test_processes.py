"""Processes are told apart by pid and start time, live in sessions of their own, and are stopped in bounded time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from syncova_project.embedded import processes
from syncova_project.embedded.supervision import LONGEST_DELAY, Member, delay_after

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(99)"


def command(tmp_path: Path, code: str) -> processes.Command:
    return processes.Command(
        name="test",
        argv=(sys.executable, "-c", code),
        environment={"PATH": "/usr/bin:/bin"},
        directory=tmp_path,
        log=tmp_path / "test.log",
    )


def wait_for_output(tmp_path: Path, identity: processes.Identity) -> None:
    while not (tmp_path / "test.log").read_text():
        assert processes.is_alive(identity)
        processes.wait_gone([identity], 0.05)


def test_a_process_lives_in_a_session_of_its_own_with_a_private_log(tmp_path):
    identity = processes.start(command(tmp_path, "import time; print('up', flush=True); time.sleep(99)"))
    try:
        assert os.getsid(identity.pid) == identity.pid
        assert (tmp_path / "test.log").stat().st_mode & 0o777 == 0o600
        assert processes.writers_of(tmp_path) == [identity]
        assert processes.writers_of(tmp_path / "test.log") == [identity]
        assert processes.writers_of(tmp_path / "test") == []
    finally:
        assert processes.stop([identity], signal.SIGTERM, 5) == []
    assert not processes.is_alive(identity)


def test_a_reused_pid_is_never_signalled():
    own = processes.own_identity()
    stale = processes.Identity(own.pid, own.started + "1")
    assert processes.is_alive(own)
    assert not processes.is_alive(stale)
    processes.send(stale, signal.SIGKILL)


def test_a_zombie_is_not_alive():
    child = subprocess.Popen(["/bin/true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert processes.identify(child.pid) is None
    child.wait()


@pytest.mark.parametrize("stopped", [False, True])
def test_one_that_does_not_listen_is_killed_after_the_grace(tmp_path, stopped):
    identity = processes.start(command(tmp_path, STUBBORN))
    wait_for_output(tmp_path, identity)
    if stopped:
        os.kill(identity.pid, signal.SIGSTOP)
    assert processes.stop([identity], signal.SIGTERM, 0.2) == [identity]
    assert not processes.is_alive(identity)


def test_a_log_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "target").write_text("precious")
    (tmp_path / "test.log").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        processes.start(command(tmp_path, "print('x')"))
    assert (tmp_path / "target").read_text() == "precious"


def test_the_last_line_for_messages(tmp_path):
    (tmp_path / "a.log").write_bytes(b"x" * 9000 + b"\nthe reason\n\n  \n")
    assert processes.last_line(tmp_path / "a.log") == "the reason"
    assert processes.last_line(tmp_path / "absent") == ""


@pytest.mark.parametrize(("failures", "delay"), [(1, 1), (2, 2), (3, 4), (5, 16), (6, 30), (10_000, LONGEST_DELAY)])
def test_the_back_off_doubles_up_to_half_a_minute(failures, delay):
    assert delay_after(failures) == delay


def test_a_member_that_ends_is_started_again_after_its_back_off_and_says_why(tmp_path, monkeypatch):
    time = [1000.0]
    monkeypatch.setattr("syncova_project.embedded.supervision.clock.monotonic", lambda: time[0])
    said: list[str] = []
    member = Member(
        "web",
        "me",
        lambda: processes.start(command(tmp_path, "import sys; print('no database'); sys.exit(3)")),
        said.append,
        tmp_path / "test.log",
    )
    member.begin()
    first = member.identity
    assert first is not None
    processes.wait_gone([first], 10)
    assert member.look()
    assert "ended with exit code 3 (no database)" in said[0]
    assert member.record().state == "waiting"
    time[0] += 0.9
    assert not member.look()
    time[0] += 0.2
    assert member.look()
    assert member.identity != first
    assert member.record().restarts == 1
    assert member.identity is not None
    processes.stop([member.identity], signal.SIGKILL, 5)


def test_a_member_that_cannot_start_is_tried_again_later(tmp_path, monkeypatch):
    time = [1000.0]
    monkeypatch.setattr("syncova_project.embedded.supervision.clock.monotonic", lambda: time[0])
    said: list[str] = []

    def refuse() -> processes.Identity:
        raise OSError("no more processes")

    member = Member("web", "me", refuse, said.append, tmp_path / "test.log")
    assert member.look()
    assert not member.look()
    time[0] += 1.1
    assert member.look()
    assert len(said) == 2
    assert "in 2 s" in said[1]
