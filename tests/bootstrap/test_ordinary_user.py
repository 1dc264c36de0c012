"""The bootstrap as an ordinary user: in a home that only that user may enter, and where nothing may be written."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bootstrap import interpreters
from bootstrap.failures import BootstrapError
from tests.bootstrap.trial import Person, Trial, make

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
NOBODY = 65534


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Trial]:
    """Return a clone in a 0700 home of an ordinary user, who is whoever runs the tests unless that is root."""
    try:
        interpreters.pick(SYSTEM_PATH)
    except BootstrapError:
        pytest.skip("no supported Python that every user of this machine may run")
    if os.geteuid() != 0:
        tmp_path.chmod(0o700)
        yield make(tmp_path)
        return
    # As root the tests' own directory may lie in a home that nobody else may enter.
    place = Path(tempfile.mkdtemp(prefix="syncova-test-home-", dir="/var/tmp"))
    try:
        made = make(place, Person(NOBODY, NOBODY))
        for path in (place, *place.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        yield made
    finally:
        shutil.rmtree(place)


def test_a_private_home_is_enough_and_later_starts_need_no_write_access(home: Trial) -> None:
    """1.17: a clone in a 0700 home."""
    told = home.told("manage", PATH=SYSTEM_PATH)
    assert told["packages"] == ["pip", "trial-base"]
    assert (home.clone / ".venv").stat().st_uid == (os.geteuid() or NOBODY)
    home.clone.chmod(0o555)
    try:
        assert home.told("manage", PATH=SYSTEM_PATH)["packages"] == ["pip", "trial-base"]
    finally:
        home.clone.chmod(0o755)


def test_no_write_access_is_said_in_one_line(home: Trial) -> None:
    home.clone.chmod(0o555)
    try:
        done = home.run("manage", PATH=SYSTEM_PATH)
    finally:
        home.clone.chmod(0o755)
    assert done.returncode == 1
    assert done.stderr == (
        f"syncova: cannot write to {home.clone}: Permission denied; its .venv is not made yet: "
        "work in a clone of your own (git clone)\n"
    )


def test_an_environment_of_a_python_that_one_may_not_run_is_named(home: Trial) -> None:
    """A clone that root has used first, with a Python in root's own home."""
    home.told("manage", PATH=SYSTEM_PATH)
    stamp = home.clone / ".venv" / "syncova-stamp.json"
    content = json.loads(stamp.read_text())
    content["interpreter"]["path"] = "/nowhere/bin/python3"
    stamp.write_text(json.dumps(content))
    (home.clone / ".venv.lock").unlink()
    home.clone.chmod(0o555)
    try:
        done = home.run("manage", PATH=SYSTEM_PATH)
    finally:
        home.clone.chmod(0o755)
    assert done.returncode == 1
    assert "its .venv was made with /nowhere/bin/python3, which you may not run" in done.stderr
    assert "a clone of your own" in done.stderr
    assert done.stderr.count("\n") == 1
