"""syncova-agent backup, interrupted and called again: it goes on, says so, and reads only what is left (2.15)."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.process.spawn import child_environment
from tests.cli.programs import Programs
from tests.engine.trees import assert_same, describe, pattern

FILES = 20
SIZE = 50_000


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files that are old enough to be trusted by their times."""
    path = tmp_path / "tree"
    path.mkdir()
    for number in range(FILES):
        (path / f"file-{number:02}").write_bytes(pattern(SIZE, number))
    time.sleep(2.1)
    return path


def test_an_interrupted_backup_goes_on_when_it_is_called_again(programs: Programs, tree: Path) -> None:
    first = interrupted(programs, tree)
    assert first["error"]["hint"] == "run the command again: it goes on from what was read"
    (unfinished,) = programs.repo("info", programs.repository, "--json").json["unfinished"]
    assert (unfinished["source"].endswith(f":{tree}"), unfinished["entries"] >= 1) == (True, True)
    told = programs.repo("info", programs.repository)
    assert "; the next backup of this source goes on from there" in told.out
    told.assert_harmless()
    assert programs.repo("list", programs.repository, "--json").json["backups"] == []
    second = programs.back_up(tree, words=("--json",))
    assert second.code == exits.DONE
    assert "goes on from a checkpoint of 20" in second.err
    figures = second.json["sources"][0]["backup"]
    assert (figures["mode"], figures["files"]) == ("full", FILES)
    assert 0 < figures["bytes_read"] == (FILES - unfinished["entries"]) * SIZE
    assert programs.repo("info", programs.repository, "--json").json["unfinished"] == []
    out = programs.directory / "out"
    assert (
        programs.agent("restore", "-r", programs.repository, "--backup", "latest", "--target", out).code == exits.DONE
    )
    assert_same(describe(tree), describe(out))


def interrupted(programs: Programs, tree: Path) -> dict[str, dict[str, str]]:
    """Press Ctrl-C when some files have been read; return the document."""
    arguments = ["backup", "-r", str(programs.repository), "--password-file", str(programs.password_file)]
    options = ["--path", str(tree), "--bandwidth", "200kB", "--progress", "json", "--json"]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "agents.runtime", *arguments, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**child_environment(), "HOME": str(programs.directory)},
    ) as process:
        assert process.stderr
        while json.loads(process.stderr.readline()).get("files", 0) < 2:
            pass
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == exits.INTERRUPTED
    document: dict[str, dict[str, str]] = json.loads(out)
    return document
