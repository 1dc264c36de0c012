"""Writers to remote media that are killed: their packs, tens of megabytes each, stay in no temporary directory."""

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.repository import open_repository
from repositories.engine.storage.locations import open_storage
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.storage.servers import Server

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("kind", ["s3", "webdav", "sftp", "openssh"])
def test_a_killed_writer_leaves_no_pack_behind(kind: str, server_of: Callable[[str], Server], tmp_path: Path) -> None:
    """The same backup is made again afterwards and is whole."""
    server = server_of(kind)
    location = server.location(secrets.token_hex(8))
    storage = open_storage(location, server.credentials)
    make_repository(storage)
    tree, temporary = tmp_path / "tree", tmp_path / "temporary"
    tree.mkdir()
    temporary.mkdir()
    (tree / "file").write_bytes(secrets.token_bytes(3_000_000))
    told = {"location": location, "credentials": dict(server.credentials.values), "tree": str(tree)}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.engine.storage.killed_writer"],
        input=json.dumps(told).encode(),
        env={**os.environ, "TMPDIR": str(temporary)},
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    assert os.listdir(temporary) == []
    repository = open_repository(storage, PASSWORD)
    back_up_tree(repository, tree)
    restore_latest(repository, tmp_path / "back")
    assert (tmp_path / "back" / "file").read_bytes() == (tree / "file").read_bytes()
