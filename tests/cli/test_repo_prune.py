"""syncova-repo prune: the plan, what it frees, and the options (3.4)."""

import os
import re
import shutil
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import Ended, Programs
from tests.engine.mounts import mount_tmpfs, remount_tmpfs, with_mounts
from tests.engine.prune.builders import run
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
    (gone,) = programs.repo("list", programs.repository, "--deleted", "--json").json["backups"]
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
    require_gone_for_good(programs, gone)


def require_gone_for_good(programs: Programs, gone: dict[str, str]) -> None:
    """The repository knows what was deleted by the manifest's id alone; by another name it is hinted at."""
    for verb in ("undelete", "show"):
        told = programs.repo(verb, programs.repository, gone["manifest_id"])
        assert (told.code, "was deleted, and is gone for good" in told.err) == (exits.FAILED, True)
        told = programs.repo(verb, programs.repository, gone["id"])
        assert (told.code, "gone for good" in told.err) == (exits.FAILED, True)


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


def test_a_backup_that_is_missing_is_told_and_stops_it_until_it_is_given_up(programs: Programs, tree: Path) -> None:
    """3.4, 3.14: whoever has its manifest may bring it back."""
    forget_first(programs, tree)
    programs.back_up(tree)
    first, second = programs.repo("list", programs.repository, "--json").json["backups"]
    name = f"manifests/{first['manifest_id']}"
    withheld(programs, first["manifest_id"])
    shown = programs.repo("list", programs.repository, "--json")
    assert shown.code == exits.INTEGRITY
    assert ([each["id"] for each in shown.json["backups"]], shown.json["missing_manifests"]) == ([second["id"]], [name])
    assert f"{name} is neither there nor deleted, though backup {second['short_id']} names it" in shown.err
    confirmed = programs.repo("check", programs.repository, "--accept-rollback")
    assert confirmed.code == exits.INTEGRITY
    refused = programs.repo("prune", programs.repository)
    assert refused.code == exits.INTEGRITY
    assert f"{name} is lost or withheld" in refused.err
    steps = ("bring both files of it back", "--accept-rollback", f"then forget {name}", "then prune again")
    assert sorted(map(refused.err.index, steps)) == [refused.err.index(each) for each in steps]
    assert programs.repo("forget", programs.repository, name, "--yes").code == exits.DONE
    assert programs.repo("prune", programs.repository).code == exits.DONE
    assert programs.repo("list", programs.repository).code == exits.DONE


def test_a_manifest_that_comes_back_after_a_prune_is_told_for_what_it_is(programs: Programs, tree: Path) -> None:
    """Nothing names the newest one, so that a prune which never saw it takes what it needs."""
    forget_first(programs, tree)
    (newest,) = programs.repo("list", programs.repository, "--json").json["backups"]
    kept = withheld(programs, newest["manifest_id"])
    run(LocalStorage(str(programs.repository)))
    for path, data in kept.items():
        path.write_bytes(data)
    checked = programs.repo("check", programs.repository)
    assert checked.code == exits.DONE
    assert "1 manifest counts as no backup: a prune had decided before it was there" in checked.out + checked.err
    assert "brought back since), and content may be gone: repair --adopt all" in checked.out + checked.err


def withheld(programs: Programs, manifest_id: str) -> dict[Path, bytes]:
    """Take both copies of a manifest away; return them."""
    found = [path for path in Path(programs.repository).rglob(manifest_id) if path.is_file()]
    kept = {path: path.read_bytes() for path in found}
    for path in found:
        path.unlink()
    assert len(kept) == 2
    return kept


def test_a_reserve_that_cannot_be_put_back_is_a_loud_warning_and_ends_with_3(programs: Programs) -> None:
    """The next full medium may not be cleaned: not even with -q that is kept quiet."""
    reserve = Path(programs.repository) / "reserve"
    reserve.unlink()
    (reserve / "what no put replaces").mkdir(parents=True)
    ended = programs.repo("prune", programs.repository, "-q")
    assert ended.code == exits.SKIPPED
    assert "THE RESERVE IS GONE: 4.00 MiB of 4.00 MiB are missing" in ended.err


def test_what_lacks_room_to_pack_anew_is_told_in_bytes_with_the_next_step(programs: Programs, tmp_path: Path) -> None:
    """A dry run foretells it; exit 3, and no word of success."""
    tree = tmp_path / "many"
    tree.mkdir()
    for number in range(80):
        (tree / f"{number:02}").write_bytes(os.urandom(20_000))
    programs.back_up(tree)
    for number in range(80):
        if number % 8:
            (tree / f"{number:02}").unlink()
    programs.back_up(tree)
    first = programs.repo("list", programs.repository, "--json").json["backups"][0]
    assert programs.repo("forget", programs.repository, first["id"], "--yes").code == exits.DONE
    planned, ended, shown = with_mounts(lambda: prune_without_room(programs, tmp_path / "small"))
    room = r"[\d.]+ MiB must be free on the medium, [\d.]+ KiB are"
    assert planned.code == exits.DONE
    assert re.search(rf"Packing anew needs room first: {room}", planned.err)
    assert ended.code == exits.SKIPPED
    assert re.search(rf"not all was repacked: there is no room for more new packs; {room}", ended.err)
    assert "Next: remove other files on the medium or take a larger one" in ended.err
    assert shown.json["finished"] is False
    assert shown.json["repack_needs_bytes"] > shown.json["repack_free_bytes"] > 0


def prune_without_room(programs: Programs, medium: Path) -> tuple[Ended, Ended, Ended]:
    """Prune a copy of the repository on a medium of its own with hardly any room: a dry run, then twice in earnest."""
    medium.mkdir()
    mount_tmpfs(medium)
    shutil.copytree(programs.repository, medium / "repo")
    programs.repo("prune", medium / "repo", "--max-unused", "100%")
    remount_tmpfs(medium, used(medium) + 500_000)
    where = medium / "repo"
    return (
        programs.repo("prune", where, "--dry-run"),
        programs.repo("prune", where),
        programs.repo("prune", where, "--json"),
    )


def used(medium: Path) -> int:
    found = os.statvfs(medium)
    return (found.f_blocks - found.f_bfree) * found.f_frsize
