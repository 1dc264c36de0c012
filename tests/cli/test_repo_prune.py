"""syncova-repo prune: the plan, what it frees, and the options (3.4)."""

import os
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import Programs
from tests.engine.repositories import PASSWORD


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    (path / "file").write_bytes(os.urandom(300_000))
    return path


def forget_first(programs: Programs, tree: Path) -> str:
    """Make two backups and delete the first; return the second one's id."""
    programs.back_up(tree)
    (tree / "file").write_bytes(os.urandom(200_000))
    programs.back_up(tree)
    first, second = programs.repo("list", programs.repository, "--json").json["backups"]
    assert programs.repo("forget", programs.repository, first["id"], "--yes").code == exits.DONE
    return str(second["id"])


def stored(programs: Programs) -> int:
    return sum(path.stat().st_size for path in (Path(programs.repository) / "packs").rglob("*") if path.is_file())


def test_a_dry_run_then_the_prune(programs: Programs, tree: Path, tmp_path: Path) -> None:
    second = forget_first(programs, tree)
    before = stored(programs)
    planned = programs.repo("prune", programs.repository, "--dry-run", "--json")
    assert planned.code == exits.DONE
    plan = planned.json["plan"]
    assert plan["delete_packs"] == len(plan["delete"]) > 0
    assert plan["bytes_to_free"] > 300_000
    assert stored(programs) == before
    shown = programs.repo("prune", programs.repository, "--dry-run")
    assert f"delete {plan['delete'][0]['pack']}: " in shown.out
    assert "would delete" in shown.out
    done = programs.repo("prune", programs.repository, "--json")
    assert done.code == exits.DONE
    report = done.json
    assert (report["finished"], report["backups"], report["removed_backups"]) == (True, 1, 1)
    assert before - stored(programs) == report["bytes_freed"] - report["bytes_written"] > 300_000
    checked = programs.repo("check", programs.repository, "--read-data", "--json").json
    assert (checked["ok"], checked["unused_packs"], checked["unreferenced_packs"]) == (True, 0, 0)
    restored = programs.agent(
        "restore", "--repository", str(programs.repository), "--backup", second, "--target", str(tmp_path / "restored")
    )
    assert restored.code == exits.DONE
    assert (tmp_path / "restored" / "file").read_bytes() == (tree / "file").read_bytes()
    again = programs.repo("prune", programs.repository)
    assert again.code == exits.DONE
    assert "0 packs deleted, 0 repacked" in again.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--max-unused", "much"), "much is no share of unused room"),
        (("--max-unused", "101%"), "101% is no share of unused room"),
        (("--max-unused", "nan"), "nan is no share of unused room"),
        (("--max-duration", "5"), "5 is no duration"),
        (("one", "too many"), "one argument too many"),
    ],
)
def test_wrong_options_are_refused_by_name(programs: Programs, words: tuple[str, ...], said: str) -> None:
    ended = programs.repo("prune", programs.repository, *words)
    assert ended.code == exits.USAGE
    assert said in ended.err


def test_who_holds_it_up_is_named(programs: Programs, tree: Path) -> None:
    forget_first(programs, tree)
    before = stored(programs)
    repository = open_repository(LocalStorage(str(programs.repository)), PASSWORD)
    with repository.begin_read():
        ended = programs.repo("prune", programs.repository, "--max-duration", "1s", "--json")
    assert ended.code == exits.LOCKED
    report = ended.json
    assert (report["finished"], stored(programs)) == (False, before)
    assert f"reader of process {os.getpid()} on " in report["waiting_for"][0]
