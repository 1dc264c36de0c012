"""A restore whose engine is killed says by what, how far it came and how to go on; going on tells what it found."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from repositories.console import exits
from tests.cli.programs import Programs
from tests.engine.trees import assert_same, describe, pattern

FILES = 40
SIZE = 20_000


def killed(words: list[str], target: Path) -> tuple[int, str]:
    """Run a restore and kill its engine when it has written some files; return the exit code and stdout."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "agents.runtime", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        while not (target.is_dir() and len(os.listdir(target)) > FILES // 4):
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(engine_of(process.pid), signal.SIGKILL)
        out, _ = process.communicate()
    return process.returncode, out.decode()


def engine_of(pid: int) -> int:
    """Return the child of a command that is its engine."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (found,) = (int(each) for each in children if b"engine.process" in Path(f"/proc/{each}/cmdline").read_bytes())
    return found


def test_a_restore_whose_engine_is_killed_says_so_and_goes_on(programs: Programs, tmp_path: Path) -> None:
    tree, target = tmp_path / "tree", tmp_path / "out"
    tree.mkdir()
    for number in range(FILES):
        (tree / f"file-{number:02}").write_bytes(pattern(SIZE, number))
    programs.back_up(tree)
    words = ["restore", "-r", str(programs.repository), "--backup", "latest", "--target", str(target)]
    words += ["--password-file", str(programs.password_file), "--bandwidth", "200kB", "--json"]
    code, out = killed(words, target)
    error = json.loads(out)["error"]
    assert (code, error["code"]) == (exits.FAILED, "ENGINE_LOST")
    assert error["message"].startswith("the engine process ended by signal 9 before it told its result: the target ")
    assert "holds at least " in error["message"]
    assert error["hint"].startswith("run it again to go on; what is there already is not written again")
    again = programs.agent("restore", "-r", programs.repository, "--backup", "latest", "--target", target)
    assert again.code == exits.DONE, again.err
    assert "objects there already and identical, not written again" in again.out
    assert_same(describe(tree), describe(target))
