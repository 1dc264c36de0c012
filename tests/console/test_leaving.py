"""The end of a program in which a library in another language still has threads."""

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import atexit, sys, threading, types
from pathlib import Path
from repositories.console import leaving

sys.modules["{library}"] = types.ModuleType("{library}")
atexit.register(Path(sys.argv[1]).write_text, "tidied")
threading.Thread(target=threading.Event().wait, daemon={daemon}).start()
sys.stdout.write("told")
sys.stderr.write("warned")
leaving.leave(13)
"""


@pytest.mark.parametrize(("library", "daemon"), [("opendal", False), ("asyncssh", False), ("other", True)])
def test_a_program_ends_with_its_code_and_all_it_said(tmp_path: Path, library: str, daemon: bool) -> None:
    """Threads of the library for far-away storage are not waited for: one that came back then aborted the process."""
    code = CODE.format(library=library, daemon=daemon)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "mark")], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (13, "told", "warned")
    assert (tmp_path / "mark").read_text() == "tidied"
