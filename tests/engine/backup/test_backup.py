"""A whole backup into a repository in memory: figures, and what a second run reads."""

from pathlib import Path

from repositories.engine.manifest.backups import list_backups, walk_entries
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import build_everything


def test_the_second_run_reads_no_content(tmp_path: Path) -> None:
    """A17: what did not change is not read again; the figures still describe everything (C9)."""
    tree = tmp_path / "tree"
    build_everything(tree)
    (tree / "times" / "4").unlink()  # from the future: always read again
    repository = make_repository()
    first = back_up_tree(repository, tree)
    second = back_up_tree(repository, tree)
    assert first.mode == "full"
    assert first.bytes_read > 6_000_000
    assert (second.mode, second.parent_id, second.chain) == ("incremental", first.backup_id, first.chain)
    assert (second.bytes_read, second.new_chunks, second.bytes_stored) == (0, 0, 0)
    assert second.logical_bytes == first.logical_bytes > 0
    assert (second.files, second.directories, second.links) == (first.files, first.directories, first.links)
    backups = list_backups(repository)
    assert [backup.root.lineage.sequence for backup in backups] == [1, 2]
    assert dict(walk_entries(repository, backups[0])) == dict(walk_entries(repository, backups[1]))
