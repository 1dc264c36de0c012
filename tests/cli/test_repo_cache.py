"""syncova-repo cache: what this machine remembers, and forgetting it (3.7)."""

import os
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.console.repository_access import own_paths
from repositories.engine.index import catalogue
from tests.cli.programs import Programs


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's directory of state of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "syncova" / "repositories"


def test_what_is_kept(programs: Programs, state: Path) -> None:
    nothing = programs.repo("cache", secret=False)
    assert (nothing.code, nothing.out) == (exits.DONE, "this machine keeps nothing of any repository\n")
    info = programs.repo("info", programs.repository, "--json").json
    (kept,) = programs.repo("cache", "--json", secret=False).json["repositories"]
    assert kept["repository_id"] == info["repository_id"]
    assert (kept["keyring_generation"], kept["last_prune"], kept["backups"]) == (1, 0, 0)
    shown = programs.repo("cache", secret=False)
    assert info["repository_id"] in shown.out
    assert str(state) in shown.err


def test_forgetting(programs: Programs, state: Path) -> None:
    programs.repo("info", programs.repository)
    (state / ".seen-left").write_bytes(b"")
    asked = programs.repo("cache", "--clear", secret=False)
    assert asked.code == exits.USAGE
    assert len(os.listdir(state)) == 2
    assert "--dry-run" not in asked.err
    assert "leave --clear out to see what it would forget" in asked.err
    assert programs.repo("cache", "--clear", "", "--yes", secret=False).code == exits.USAGE
    unknown = programs.repo("cache", "--clear", "0123", "--yes", secret=False)
    assert (unknown.code, len(os.listdir(state))) == (exits.USAGE, 2)
    assert programs.repo("cache", "--clear", "--yes", secret=False).code == exits.DONE
    assert os.listdir(state) == []
    assert programs.repo("list", programs.repository).code == exits.DONE


def test_only_one_of_several(programs: Programs, state: Path) -> None:
    programs.repo("info", programs.repository)
    other = state / f"{'0' * 32}.json"
    other.write_bytes(b"no memory at all")
    kept = programs.repo("cache", "--json", secret=False).json["repositories"]
    assert [each["backups"] for each in kept] == [None, 0]
    programs.repo("cache", "--clear", "000", "--yes", secret=False)
    assert not other.exists()
    assert len(os.listdir(state)) == 1


def test_indexes_of_large_repositories(
    programs: Programs, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4.3: they are shown, no backup holds them, and they go with the rest; small ones are not kept."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"content")
    programs.back_up(tmp_path / "tree")
    assert programs.repo("ls", programs.repository, "latest").code == exits.DONE
    assert [each.name for each in state.iterdir() if each.is_dir()] == []
    monkeypatch.setattr(catalogue, "FEW_BYTES", 0)
    assert programs.repo("ls", programs.repository, "latest").code == exits.DONE
    (index,) = (state / "indexes").iterdir()
    assert bytes(state / "indexes") in own_paths("/elsewhere")
    (kept,) = programs.repo("cache", "--json", secret=False).json["repositories"]
    assert kept["index_bytes"] == index.stat().st_size > 0
    assert kept["bytes"] > kept["index_bytes"]
    index.with_name(f".{index.name}").write_bytes(b"left by a killed process")
    (state / f"{index.stem}.json").unlink()
    (kept,) = programs.repo("cache", "--json", secret=False).json["repositories"]
    assert (kept["repository_id"], kept["backups"]) == (index.stem, None)
    assert programs.repo("cache", "--clear", "--yes", secret=False).code == exits.DONE
    assert list((state / "indexes").iterdir()) == []
