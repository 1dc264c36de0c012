"""Looks into one backup: pages by count and by bytes, and an end as soon as nobody waits."""

import base64
import io
import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.manifest.backups import list_backups
from repositories.engine.process import protocol, runner
from repositories.engine.process.channel import Channel
from repositories.engine.process.protocol import Failed, Finished
from repositories.engine.process.requests import LookOrder, Request
from tests.engine.process.children import access
from tests.engine.repositories import back_up_tree, local_repository

NAMES = [f"file-{number:03}" for number in range(40)]


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    """A backup of some directories, of which the middle one holds NAMES."""
    tree = tmp_path / "tree"
    for directory, names in (("a", ["one"]), ("b", NAMES), ("c", ["two"])):
        (tree / directory).mkdir(parents=True)
        for name in names:
            (tree / directory / name).write_bytes(b"x")
    repository = local_repository(tmp_path / "repo")
    back_up_tree(repository, tree)
    (backup,) = list_backups(repository)
    return backup.manifest_id


def looked(tmp_path: Path, operation: Any, order: LookOrder, *, cancelled: bool = False) -> Finished | Failed:
    out = io.BytesIO()
    channel = Channel(io.BytesIO(), out)
    if cancelled:
        channel.cancel()
    runner.run(Request(operation=operation, repository=access(tmp_path / "repo"), look=order), channel)
    last = protocol.decode_event(out.getvalue().splitlines()[-1])
    assert isinstance(last, Finished | Failed)
    return last


def names_over_pages(tmp_path: Path, operation: str, **order: Any) -> list[list[str]]:
    pages, after = [], b""
    while True:
        last = looked(tmp_path, operation, LookOrder(after=after, **order))
        assert isinstance(last, Finished)
        pages.append([entry["path"] for entry in last.result["entries"]])
        if last.result["next_base64"] is None:
            return pages
        after = base64.b64decode(last.result["next_base64"])


@pytest.mark.parametrize(
    ("operation", "order"), [("browse", {"path": b"b"}), ("find", {"pattern": "file-*"}), ("find", {"pattern": "b/*"})]
)
def test_pages_hold_what_fits_and_together_everything_once(
    tmp_path: Path, manifest: str, operation: str, order: dict[str, Any]
) -> None:
    everything = [f"b/{name}" for name in NAMES]
    by_count = names_over_pages(tmp_path, operation, manifest_id=manifest, limit=13, **order)
    assert [len(page) for page in by_count] == [13, 13, 13, 1]
    assert list(itertools.chain(*by_count)) == everything
    by_bytes = names_over_pages(tmp_path, operation, manifest_id=manifest, limit=1000, most_bytes=3000, **order)
    assert list(itertools.chain(*by_bytes)) == everything
    assert 1 < len(by_bytes) < 20


@pytest.mark.parametrize("operation", ["browse", "find"])
def test_a_look_ends_when_nobody_waits_and_leaves_nothing(tmp_path: Path, manifest: str, operation: str) -> None:
    last = looked(tmp_path, operation, LookOrder(manifest_id=manifest, path=b"b"), cancelled=True)
    assert isinstance(last, Failed)
    assert last.error.code == "CANCELLED"
    assert [name for name in os.listdir(tmp_path / "repo" / "sessions") if not name.startswith(".")] == []
