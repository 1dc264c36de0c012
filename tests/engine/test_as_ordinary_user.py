"""2.14: tests of the engine that run as whoever runs the suite, once more as an ordinary user when that is root.

Owns the place where that user can read Python, the engine and its tests, whatever directory they lie in. Tests that
become an ordinary user by themselves need no second run.
"""

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncova_project.embedded import python_copy
from tests import private_servers
from tests.canaries_watch import SESSION
from tests.engine.users import let_others_through

pytestmark = private_servers.as_root

CLONE = Path(__file__).parents[2]
FILES = (
    "backup/test_backup.py",
    "backup/test_change_detection.py",
    "backup/test_fidelity.py",
    "backup/test_going_on.py",
    "backup/test_random_trees.py",
    "backup/test_rereading.py",
    "backup/test_unfriendly.py",
    "browse/test_dump.py",
    "metadata",
    "restore/test_hard_links.py",
    "restore/test_hard_links_that_differ.py",
    "restore/test_parts.py",
    "restore/test_restore.py",
    "source/test_excludes.py",
    "source/test_files.py",
    "source/test_walker.py",
)
# Beside the tests, what the copy of the libraries for servers leaves out.
TEST_LIBRARIES = ("_pytest", "hypothesis")
OPTIONS = ("-q", "-rfE", "-p", "no:django", "-p", "no:cacheprovider", "-c", "pytest.ini", "--rootdir=.")


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a directory that every user may pass."""
    directory = Path(tempfile.mkdtemp(prefix="syncova-test-user-"))
    let_others_through(directory)
    directory.chmod(0o755)
    yield directory
    SESSION.tree(directory)
    shutil.rmtree(directory)


def copy_suite(place: Path) -> Path:
    """Copy the tests, and what they need, to where every user may read them."""
    suite = place / "suite"
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CLONE / "tests" / "engine", suite / "tests" / "engine", ignore=skip)
    (suite / "docs").mkdir()
    for name in ("tests/__init__.py", "tests/canaries.py", "tests/tree_facts.py", "docs/restore_without_syncova.py"):
        shutil.copy2(CLONE / name, suite / name)
    for name in TEST_LIBRARIES:
        shutil.copytree(Path(sysconfig.get_path("purelib")) / name, suite / name, ignore=skip)
    (suite / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    for path in (suite, *suite.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return suite


def test_the_engine_is_as_faithful_for_an_ordinary_user(place: Path, session_directory: Path) -> None:
    layout, account = private_servers.layout_in(session_directory)
    interpreter = python_copy.interpreter_for(account, layout.programs)
    suite, base = copy_suite(place), place / "base"
    base.mkdir()
    os.chown(base, account.uid, account.gid)
    variables = interpreter.variables | {
        "PYTHONPATH": f"{suite}:{interpreter.variables['PYTHONPATH']}",
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": str(base),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(base / "hypothesis"),
    }
    files = [f"tests/engine/{name}" for name in FILES]
    finished = subprocess.run(
        [*interpreter.argv, "-m", "pytest", *OPTIONS, f"--basetemp={base / 'tmp'}", *files],
        cwd=suite, env=variables, user=account.uid, group=account.gid, extra_groups=[],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout[-8000:] + finished.stderr[-2000:]
    passed = re.search(r"(\d+) passed", finished.stdout)
    assert passed is not None
    assert int(passed[1]) > 200
