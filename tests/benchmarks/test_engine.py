"""`./syncova bench engine` as a person runs it, on a tiny tree: what it prints, refuses and leaves (4.1)."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.tools import STEPS

FAILING = (
    '#!/bin/sh\ncase "$*" in version) echo "restic 9";; *init*) mkdir "$2";; *) echo "disk on fire"; exit 7;; esac\n'
)
STUCK = '#!/bin/sh\n[ "$*" = version ] || exec sleep 600\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of a hundred files, one of which changes by the rule of one percent."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(100):
        (tree / f"file {number:02}").write_bytes(os.urandom(100 + number))
    return tree


def peer(place: Path, text: str) -> str:
    """Return the path of a program that passes for restic."""
    program = place / "peer"
    program.write_text(text)
    program.chmod(0o755)
    return str(program)


def start(place: Path, *words: str, restic: str = "none") -> "subprocess.Popen[str]":
    """Start the command; it works in `place`/work."""
    (place / "work").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.benchmarks", "engine", *words, "--work", str(place / "work")]
    variables = {**os.environ, "RESTIC": restic, "BORG": "none"}
    return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_each_step_is_measured_and_a_peer_that_fails_is_told(tree: Path, tmp_path: Path) -> None:
    """All of ours are there with their bytes, the peer with the step that broke it and why; exit 3."""
    before = {path: path.read_bytes() for path in tree.iterdir()}
    process = start(tmp_path, str(tree), "--rounds", "1", "--json", restic=peer(tmp_path, FAILING))
    said, notes = process.communicate(timeout=300)
    assert process.returncode == 3, notes
    document = json.loads(said)
    assert {"processor", "cores", "memory_bytes", "file_system", "kernel"} <= set(document["machine"])
    assert document["versions"]["restic"] == "restic 9"
    (measured,) = document["trees"]
    assert measured["failures"] == {"restic": "round 1, first backup: exit 7: disk on fire"}
    assert [row["step"] for row in measured["steps"]] == list(STEPS)
    assert all(
        row["tool"] == "syncova" and row["cpu_seconds"] > 0 and row["peak_bytes"] > 0 for row in measured["steps"]
    )
    assert [row["step"] for row in measured["steps"] if row["stored_bytes"]] == ["first backup", "1 % changed", "prune"]
    assert {path: path.read_bytes() for path in tree.iterdir()} == before
    assert list((tmp_path / "work").iterdir()) == []


def test_a_real_peer_does_the_same_work(tree: Path, tmp_path: Path) -> None:
    """Restic, where it is: all steps, restored bytes compared, a table for people."""
    restic = shutil.which(os.environ.get("RESTIC", "restic"))
    if restic is None:
        pytest.skip("restic is not there (RESTIC names it)")
    process = start(tmp_path, str(tree), "--rounds", "1", "--tool", "restic", restic=restic)
    said, notes = process.communicate(timeout=300)
    assert process.returncode == 0, notes
    lines = said.splitlines()
    assert [line[:12].strip() for line in lines if "  restic  " in line and line[:12].strip() in STEPS] == list(STEPS)
    assert "100 files" in said


def test_interrupted_it_ends_the_peer_and_leaves_nothing(tree: Path, tmp_path: Path) -> None:
    """SIGTERM in the middle of a step: exit 143, the peer is gone, the working directory empty."""
    process = start(tmp_path, str(tree), "--tool", "restic", restic=peer(tmp_path, STUCK))
    assert process.stderr is not None
    assert "create, restic" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "terminated" in told
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize(("words", "reason"), [(["/nowhere"], "no directory"), (["--tool", "tar"], "tar is not found")])
def test_what_cannot_be_measured_is_refused_at_once(words: list[str], reason: str, tmp_path: Path) -> None:
    """One JSON object with code, message and hint; exit 2."""
    process = start(tmp_path, *words, "--json")
    said, _ = process.communicate(timeout=60)
    error = json.loads(said)["error"]
    assert (process.returncode, error["code"]) == (2, "USAGE")
    assert reason in error["message"]
    assert error["hint"]
