"""Who lives and who does not, as another process of the same host can tell (3.13, engine.md section 5)."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from repositories.engine.sessions.holder import is_surely_dead, process_start, this_process
from tests.engine.faults.victims import ROOT

TELL = (
    "import os, sys; from repositories.engine.sessions.holder import this_process as me;"
    "h = me(); print(h.pid_namespace, h.pid, h.process_start, os.getpid(), flush=True); sys.stdin.read()"
)


def test_one_that_ended_and_was_not_waited_for_is_dead() -> None:
    """In a container without an init nobody ever waits for it, and a prune would wait for ever."""
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    started = process_start(child)
    assert started
    os.kill(child, signal.SIGSTOP)
    assert process_start(child) == started, "a stopped process lives"
    os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert process_start(child) is None
    os.waitpid(child, 0)


def test_one_of_which_a_thread_is_left_lives() -> None:
    """The first thread may have ended, and another one still writes."""
    program = (
        "import ctypes, threading, time;"
        "threading.Thread(target=time.sleep, args=(60,)).start();"
        "print(flush=True); ctypes.CDLL(None).syscall(60, 0)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        tick = threading.Event()
        for _ in range(200):
            if b") Z " in Path(f"/proc/{process.pid}/stat").read_bytes():
                break
            tick.wait(0.02)
        else:
            pytest.skip("this machine ends threads otherwise")
        assert process_start(process.pid) is not None
        process.kill()


@pytest.mark.parametrize("own_proc", [True, False], ids=["with its own proc", "with the host's proc"])
def test_a_container_of_the_same_host_is_not_judged_by_process_numbers(own_proc: bool) -> None:
    """Its numbers mean nothing here, and ours nothing there: only the standing counter tells."""
    words = ["unshare", "--pid", "--fork", *(["--mount-proc"] if own_proc else []), sys.executable, "-c", TELL]
    try:
        process = subprocess.Popen(
            words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    with process:
        assert process.stdin
        assert process.stdout
        told = process.stdout.readline().split()
        if not told:
            pytest.skip("this user may not make a pid namespace")
        namespace, pid, start, inside = map(int, told)
        me = this_process()
        assert (inside, pid) == (1, 1)
        assert namespace != me.pid_namespace
        assert (namespace != 0) == own_proc
        there = type(me)(me.boot_id, namespace, pid, start, me.host)
        assert not is_surely_dead(there, me)
        assert not is_surely_dead(me, there)
        process.stdin.close()
    assert not is_surely_dead(there, me), "nor is it known when it has ended"
