"""syncova-agent backup of a source that vanishes while it is read, and what it tells of things that vanish in one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from repositories.console import exits
from repositories.engine.process.spawn import child_environment
from tests.cli.programs import Programs
from tests.engine.trees import add_socket


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    for number in range(10):
        (path / f"file {number}").write_bytes(os.urandom(100_000))
    return path


def backups(programs: Programs) -> list[str]:
    return [each["source"] for each in programs.repo("list", programs.repository, "--json").json["backups"]]


def removed_while_read(programs: Programs, tree: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Back up `tree` slowly and take it away as soon as something of it has been read; return exit code and result."""
    options = ("-r", programs.repository, "--password-file", programs.password_file, "--path", tree, *words)
    command = [sys.executable, "-P", "-m", "agents.runtime", "backup", *map(str, options)]
    with subprocess.Popen(
        [*command, "--bandwidth", "100kB", "--progress", "json", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**child_environment(), "HOME": str(programs.directory)},
    ) as process:
        assert process.stderr
        for line in process.stderr:
            if json.loads(line).get("bytes_read"):
                break
        shutil.rmtree(tree)
        out, err = process.communicate(timeout=60)
    assert out, err
    return process.returncode, json.loads(out)


def test_a_source_that_vanishes_is_no_backup(programs: Programs, tree: Path) -> None:
    """1.19: never green; the error says which source, what happened and what to look at."""
    code, document = removed_while_read(programs, tree)
    assert (code, document["error"]["code"]) == (exits.FAILED, "SOURCE_VANISHED")
    assert f"source {tree} vanished while it was read" in document["error"]["message"]
    assert "mounted" in document["error"]["hint"]
    assert document["state"] == "failed"
    assert backups(programs) == []


def test_other_sources_are_backed_up_and_the_run_is_partial(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """A6, A11."""
    (tmp_path / "other").write_bytes(b"x")
    code, document = removed_while_read(programs, tree, "--path", str(tmp_path / "other"))
    assert (code, document["state"]) == (exits.SKIPPED, "partial_failure")
    assert [source["state"] for source in document["sources"]] == ["failed", "succeeded"]
    assert document["sources"][0]["error"]["code"] == "SOURCE_VANISHED"
    assert backups(programs) == [document["sources"][1]["source"]]


def test_notes_are_told_in_one_counted_line_of_each_class(programs: Programs, tree: Path) -> None:
    add_socket(tree)
    ended = programs.back_up(tree, words=("--exclude", "file ?", "--progress", "none"))
    assert ended.code == exits.DONE
    lines = [line.strip() for line in ended.out.splitlines() if "note:" in line]
    assert lines == ["note: left out by exclude rules: 10", "note: sockets, which hold no data: 1"]
    document = programs.back_up(tree, words=("--exclude", "file ?", "--json")).json
    figures = document["sources"][0]["backup"]
    assert (figures["notes"], figures["note_counts"]) == (11, {"excluded": 10, "socket": 1})
