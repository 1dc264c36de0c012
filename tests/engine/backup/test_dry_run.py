"""A dry run foretells what the backup does, reads no content and writes nothing (2.8)."""

import os
import random
import uuid
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.backup import BackupOptions, BackupResult, Hooks, SourceSpec
from repositories.engine.backup.dry_run import Forecast, RuleCount, rehearse
from repositories.engine.errors import BackupNotFoundError, ConfigurationError, SourceEmptyError, SourceMissingError
from repositories.engine.ids import backup_id
from repositories.engine.manifest.backups import list_backups
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.repository import Repository
from repositories.engine.source import ahead
from repositories.engine.source.cache_tags import SIGNATURE
from tests.engine.repositories import LaterClock, back_up_tree, local_repository
from tests.engine.trees import add_socket, build_everything, remove_deep
from tests.engine.users import as_ordinary_user, let_others_through


def foretell(repository: Repository, path: Path, **changes: Any) -> Forecast:
    raw = os.fsencode(path)
    run = str(uuid.uuid4())
    source = {key: value for key, value in changes.items() if key in SourceSpec.__struct_fields__}
    other = {key: value for key, value in changes.items() if key not in source}
    options = BackupOptions(backup_id(uuid.UUID(run), "filesystem", raw), run, **other)
    return rehearse(repository, SourceSpec("tree", raw, **source), options, Hooks(clock=LaterClock()))


def assert_foretold(forecast: Forecast, result: BackupResult) -> None:
    """Fail where a backup did otherwise than was foretold."""
    assert forecast.new_files + forecast.changed_files + forecast.unchanged_files == result.files
    assert (forecast.directories, forecast.links, forecast.others) == (result.directories, result.links, result.others)
    assert (forecast.logical_bytes, forecast.bytes_to_read) == (result.logical_bytes, result.bytes_read)
    assert (forecast.skipped, forecast.warnings, forecast.notes) == (result.skipped, result.warnings, result.notes)
    assert forecast.problem_counts == result.problem_counts
    assert forecast.parent_id == result.parent_id


def test_a_tree_of_everything_is_foretold(tmp_path: Path, repository: Repository) -> None:
    tree = tmp_path / "tree"
    build_everything(tree)
    add_socket(tree)
    forecast = foretell(repository, tree)
    assert (forecast.gone, forecast.unchanged_files, forecast.changed_files) == (None, 0, 0)
    assert_foretold(forecast, back_up_tree(repository, tree))
    (tree / "small").write_bytes(b"other content")
    (tree / "large").unlink()
    (tree / "new").write_bytes(b"new")
    (tree / "hard c").unlink()
    forecast = foretell(repository, tree)
    # Changed: "small", both names of the hard link (their ctime), and a file whose time lies in the future.
    assert (forecast.new_files, forecast.changed_files, forecast.gone) == (1, 4, 2)
    assert_foretold(forecast, back_up_tree(repository, tree))


@pytest.mark.parametrize("seed", range(6))
def test_any_tree_and_rules_are_foretold(tmp_path: Path, repository: Repository, seed: int) -> None:
    """Backup after backup of a tree that changes at random, each foretold."""
    chance = random.Random(seed)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "stays").write_bytes(b"stays")
    rules = tuple(chance.sample(["*.a", "/0/", "1/*", "!1/2.a", "**/2/**", "[34].b"], 3))
    for _ in range(3):
        for _ in range(12):
            path = tree.joinpath(*(str(chance.randrange(4)) for _ in range(chance.randrange(3))))
            path.mkdir(parents=True, exist_ok=True)
            (path / f"{chance.randrange(5)}.{chance.choice('ab')}").write_bytes(chance.randbytes(chance.randrange(90)))
            if chance.random() < 0.2:
                (path / "CACHEDIR.TAG").write_bytes(SIGNATURE)
        for path in sorted(tree.rglob("*.b"))[::3]:
            path.unlink()
        order: dict[str, Any] = {
            "excludes": rules,
            "exclude_caches": chance.random() < 0.5,
            "reread_percent": chance.choice([0, 100]),
        }
        forecast = foretell(repository, tree, **order)
        before = list_backups(repository)
        result = back_up_tree(repository, tree, **order)
        assert_foretold(forecast, result)
        if before:
            new = forecast.new_files
            entries = list_backups(repository)[-1].root.statistics.entries
            assert forecast.gone is not None
            assert entries >= before[-1].root.statistics.entries - forecast.gone + new


def test_each_rule_is_counted(tree: Path, repository: Repository) -> None:
    for name in ("x.tmp", "y.tmp", "cache"):
        (tree / name).write_bytes(b"x")
    forecast = foretell(repository, tree, excludes=("*.tmp", "nothing", "cache", "!y.tmp"))
    assert forecast.rules == (RuleCount(1, "*.tmp", 1), RuleCount(3, "cache", 1))
    assert (forecast.new_files, forecast.idle_rules) == (3, 1)


def test_no_content_is_read(tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "large").write_bytes(bytes(range(256)) * 40_000)
    read: list[str] = []
    for name in ("read", "readv", "pread"):
        real = getattr(os, name)

        def watched(descriptor: int, *rest: Any, real: Any = real) -> Any:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            if path.startswith(str(tree)):
                read.append(path)
            return real(descriptor, *rest)

        monkeypatch.setattr(os, name, watched)
    foretell(repository, tree, reread_percent=100)
    assert read == []
    # Only what this process reads is seen.
    monkeypatch.setattr(ahead, "ENOUGH", 1000)
    back_up_tree(repository, tree)
    assert len(set(read)) == 3


def test_nothing_is_written(tmp_path: Path, tree: Path) -> None:
    """Not one object is put, and a repository that cannot be written to is no obstacle, to an ordinary user either."""
    repository = local_repository(tmp_path / "repo")
    back_up_tree(repository, tree)
    (tree / "a").write_bytes(b"changed")
    before = {stored.name: stored.size for stored in repository.object_names()}
    foretell(repository, tree)
    assert {stored.name: stored.size for stored in repository.object_names()} == before
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "repo").rglob("*")}
    for path in [tmp_path / "repo", *times]:
        if path.is_dir():
            path.chmod(0o555)
    let_others_through(tmp_path)
    try:
        forecast = as_ordinary_user(lambda: foretell(repository, tree), tmp_path / "repo")
    finally:
        for path in [tmp_path / "repo", *times]:
            if path.is_dir():
                path.chmod(0o755)
    assert (forecast.changed_files, forecast.skipped) == (1, 0)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "repo").rglob("*")} == times


def test_what_cannot_be_read_is_foretold_to_an_ordinary_user(tmp_path: Path, tree: Path) -> None:
    repository = local_repository(tmp_path / "repo")
    (tree / "secret").write_bytes(b"secret")
    (tree / "secret").chmod(0)
    (tree / "empty").write_bytes(b"")
    (tree / "empty").chmod(0)
    (tree / "closed").mkdir(mode=0)
    let_others_through(tmp_path)

    def both() -> tuple[Forecast, BackupResult]:
        return foretell(repository, tree), back_up_tree(repository, tree)

    forecast, result = as_ordinary_user(both, tmp_path / "repo", tree)
    assert_foretold(forecast, result)
    assert {(problem.kind, problem.path) for problem in forecast.problems} == {
        (ProblemKind.PERMISSION, b"secret"),
        (ProblemKind.PERMISSION, b"closed"),
    }


def test_a_source_as_a_whole_is_refused_as_in_a_backup(tree: Path, repository: Repository, tmp_path: Path) -> None:
    """2.6: missing or suddenly empty, it is never told as fine."""
    with pytest.raises(SourceMissingError):
        foretell(repository, tmp_path / "missing")
    with pytest.raises(ConfigurationError, match="can match nothing"):
        foretell(repository, tree, excludes=("[a",))
    with pytest.raises(BackupNotFoundError):
        foretell(repository, tree, parent="nosuchbackup")
    back_up_tree(repository, tree)
    remove_deep(tree)
    with pytest.raises(SourceEmptyError):
        foretell(repository, tree)
    assert foretell(repository, tree, accept_new_root=True).gone == 3
