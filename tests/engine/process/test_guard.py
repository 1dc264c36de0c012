"""A child never outlives its parent, whatever it is doing."""

import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Holds the interpreter for good: no Python code of any thread runs again, signal handlers neither.
STUCK = "import re; print('stuck', flush=True); re.match(r'(a+)+$', 'a' * 64 + 'b')"


def start(body: str, grace: float = 0.2) -> subprocess.Popen[bytes]:
    code = f"""
from repositories.engine.process import guard
guard.die_with_parent()
guardian = guard.Guardian(0, {grace})
{textwrap.dedent(body)}
"""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout
    return process.stdout.readline()


def test_a_child_stuck_in_a_c_call_dies_when_its_stdin_ends() -> None:
    """engine.md 4: EOF on stdin ends the child also where no signal handler can run."""
    with start(STUCK) as process:
        assert read_line(process) == b"stuck\n"
        assert process.stdin
        process.stdin.close()
        assert process.wait(30) == -signal.SIGKILL


def test_a_child_that_ends_in_time_ends_by_itself() -> None:
    with start("import sys; sys.stdin.read(); print('done', flush=True)", grace=30) as process:
        assert process.stdin
        process.stdin.close()
        assert read_line(process) == b"done\n"
        assert process.wait(30) == 0


def test_data_on_stdin_is_left_to_the_child() -> None:
    with start("print(input(), flush=True); guardian.stop()") as process:
        assert process.stdin
        process.stdin.write(b"a line\n")
        process.stdin.flush()
        assert read_line(process) == b"a line\n"
        assert process.wait(30) == 0


def test_a_stopped_guardian_leaves_nothing_behind() -> None:
    with start("guardian.stop(); import os; print(os.waitpid(-1, 0))") as process:
        process.wait(30)
        assert process.returncode == 1, "there must be no child left to wait for"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's part of the tie exists on Linux only")
def test_a_stuck_child_dies_with_its_parent() -> None:
    """engine.md 4: killed with its parent."""
    child_code = f"from repositories.engine.process import guard; guard.die_with_parent(); {STUCK}"
    parent_code = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {child_code!r}],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline()
print(child.pid, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", parent_code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT)},
    ) as parent:
        child = os.pidfd_open(int(read_line(parent)))
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait(30)
        ended, _, _ = select.select([child], [], [], 30)
        os.close(child)
        assert ended
