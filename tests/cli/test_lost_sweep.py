"""With a lost sweep all whole backups are looked at, nobody writes, and the next step is a repair (3.2, 3.11)."""

from pathlib import Path
from typing import Any

import pytest

from repositories.console import exits
from repositories.engine.backup import Hooks
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import Ended, Programs
from tests.engine.repositories import PASSWORD, back_up_tree
from tests.engine.trees import pattern

CONTENT = pattern(200_000, 1)


@pytest.fixture
def backup(programs: Programs, tmp_path: Path) -> str:
    """Return the manifest of the backup that a prune has left; both copies of its sweep are damaged since."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "gone").write_bytes(pattern(100_000, 2))
    repository = open_repository(LocalStorage(str(programs.repository)), PASSWORD)
    first = back_up_tree(repository, tree)
    (tree / "gone").rename(tree / "kept")
    (tree / "kept").write_bytes(CONTENT)
    left = back_up_tree(repository, tree)
    record = TombstoneRecord((bytes.fromhex(first.manifest_id),), 1, "keep rule")
    repository.store.put(ObjectKind.TOMBSTONE, encode(record))
    prune(repository, PruneRequest(max_unused=0.0), Hooks())
    damage(programs.repository)
    return left.manifest_id


def damage(repository: Path) -> None:
    sweeps = [path for path in repository.rglob("sweeps/*") if path.is_file()]
    assert len(sweeps) == 2
    for sweep in sweeps:
        data = bytearray(sweep.read_bytes())
        data[100] ^= 0xFF
        sweep.write_bytes(data)


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def require_warned(ended: Ended) -> None:
    (told,) = ended.json["warned"]
    assert "no copy can be read of sweeps/" in told
    assert "deleted or given up may be among them" in told
    assert "syncova-repo repair" in told


LOOKS = (
    ("list",),
    ("show", "latest"),
    ("ls", "latest"),
    ("find", "kept"),
    ("diff", "latest", "latest"),
    ("info",),
    ("stats",),
    ("stats", "latest"),
)


def test_whoever_looks_goes_on_and_is_warned(programs: Programs, backup: str, tmp_path: Path) -> None:
    """Nothing is changed by looking, so that it works on a medium that is read only."""
    before = contents(programs.repository)
    dump = ("dump", "latest", "kept", "--output", str(tmp_path / "dumped"))
    for verb, *words in (*LOOKS, dump):
        ended = programs.repo(verb, "-r", programs.repository, *words, "--json")
        assert (ended.code, ended.json["sweep_lost"]) == (exits.INTEGRITY, True), (verb, ended)
        require_warned(ended)
    assert (tmp_path / "dumped").read_bytes() == CONTENT
    listed = programs.repo("list", programs.repository, "--json").json["backups"]
    assert [each["manifest_id"] for each in listed] == [backup]
    assert contents(programs.repository) == before


def test_a_restore_is_whole_and_a_check_looks_at_the_rest(programs: Programs, backup: str, tmp_path: Path) -> None:
    words = ("--backup", "latest", "--target", str(tmp_path / "target"), "--json")
    restored = programs.agent("restore", "-r", programs.repository, *words)
    fields = ("state", "damaged", "sweep_lost")
    assert (restored.code, *map(restored.json.get, fields)) == (exits.SKIPPED, "partial", 0, True)
    assert (tmp_path / "target" / "kept").read_bytes() == CONTENT
    require_warned(restored)
    checked = programs.repo("check", programs.repository, "--read-data", "--json")
    fields = ("backups", "remembered", "hurt_backups")
    assert (checked.code, *map(checked.json.get, fields)) == (exits.INTEGRITY, 1, False, [])
    assert checked.json["chunks_read"] > 0
    assert {each["kind"] for each in checked.json["problems"]} == {"sweep", "copy"}
    assert checked.json["hint"].startswith("repair the repository")


def test_nobody_writes(programs: Programs, backup: str, tmp_path: Path) -> None:
    """By what cannot be read packs may be about to go, and manifests may not count."""
    before = contents(programs.repository)
    for verb, *words in (
        ("prune",),
        ("prune", "--dry-run"),
        ("forget", "--keep-last", "1", "--yes"),
        ("forget", backup, "--yes"),
    ):
        require_refused(programs.repo(verb, programs.repository, *words, "--json"))
    require_refused(programs.back_up(tmp_path / "tree", words=("--source", "home", "--json")))
    assert contents(programs.repository) == before


def require_refused(ended: Ended) -> Any:
    assert (ended.code, ended.json["error"]["code"]) == (exits.INTEGRITY, "FENCE_LOST"), ended
    assert "syncova-repo repair" in ended.json["error"]["hint"]
