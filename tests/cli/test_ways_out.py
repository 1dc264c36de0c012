"""What is lost for good: it is said, the next step is named with its ids, and that step really leads out."""

import re
import shutil
from pathlib import Path

import pytest

from repositories.cli.check import print_report
from repositories.console import exits
from repositories.console.terminal import Terminal
from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import StorageReadOnlyError
from repositories.engine.format.kinds import COPIES
from repositories.engine.process.check_operation import check_fields
from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import Ended, Programs
from tests.engine.repositories import PASSWORD


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    (path / "file").write_bytes(b"1" * 5000)
    return path


def two_backups(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    (tree / "file").write_bytes(b"2" * 9000)
    programs.back_up(tree)


def newest_manifest(programs: Programs) -> str:
    listed = programs.repo("list", programs.repository, "--json").json["backups"]
    return f"manifests/{max(listed, key=lambda each: each['time'])['manifest_id']}"


def overwrite(programs: Programs, *names: str) -> None:
    for name in names:
        overwrite_bytes(Path(programs.repository) / name, b"bad")


def go_out(programs: Programs, told: Ended) -> None:
    """Do what a check or a repair told: forget those names, then prune; afterwards nothing is wrong."""
    found = re.search(r"syncova-repo forget LOCATION ([^,…]+)", told.err)
    assert found, told.err
    ended = programs.repo("forget", programs.repository, *found[1].split(), "--yes", "--allow-last")
    assert ended.code == exits.DONE
    assert programs.repo("prune", programs.repository).code == exits.DONE
    assert programs.repo("check", programs.repository, "--read-data").code == exits.DONE


@pytest.mark.parametrize("harm", ["damaged", "gone"])
def test_a_lost_manifest_is_forgotten_by_the_name_that_is_told(programs: Programs, tree: Path, harm: str) -> None:
    two_backups(programs, tree)
    programs.back_up(tree)
    listed = programs.repo("list", programs.repository, "--json").json["backups"]
    middle = f"manifests/{sorted(listed, key=lambda each: str(each['time']))[1]['manifest_id']}"
    for name in (middle, COPIES + middle):
        if harm == "gone":
            (Path(programs.repository) / name).unlink()
        else:
            overwrite(programs, name)
    first = programs.repo("check", programs.repository).err
    assert ("--accept-rollback" in first) == (harm == "gone"), "this machine has seen it"
    if harm == "gone":
        require_safe_first(first, middle)
    checked = programs.repo("check", programs.repository, "--accept-rollback")
    assert checked.code == exits.INTEGRITY
    assert f"forget LOCATION {middle}, then prune" in checked.err
    mended = programs.repo("repair", programs.repository)
    assert (mended.code, middle in mended.err) == (exits.INTEGRITY, True)
    planned = programs.repo("repair", programs.repository, "--dry-run")
    assert planned.code == exits.INTEGRITY
    assert (middle in planned.err) == ("0 steps to do" in planned.out)
    assert (harm == "damaged") or middle in planned.err
    forgotten = programs.repo("forget", programs.repository, middle, "--dry-run")
    assert f"delete  {middle}" in forgotten.out
    go_out(programs, checked)


def require_safe_first(told: str, manifest: str) -> None:
    """What loses nothing comes first; the other steps stand in an order that works; the true reason is given."""
    following = told[told.index("Next: ") :]
    steps = ("from a copy of the repository", "--accept-rollback", f"forget LOCATION {manifest}, then prune")
    assert sorted(map(following.index, steps)) == [following.index(each) for each in steps]
    assert "the result was not remembered: nothing is written into a state that is earlier" in told
    assert "nothing can be written here" not in told


def test_forgetting_what_is_lost_promises_no_return(programs: Programs, tree: Path) -> None:
    two_backups(programs, tree)
    lost = newest_manifest(programs)
    overwrite(programs, lost, COPIES + lost)
    ended = programs.repo("forget", programs.repository, lost, "--yes")
    assert ended.code == exits.DONE
    assert "1 backup deleted; nothing is freed yet: prune frees the room" in ended.out
    assert "undelete" not in ended.out + ended.err


def test_a_hurt_backup_whose_source_has_changed(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    pack = max(Path(programs.repository).glob("packs/*/*"), key=lambda path: path.stat().st_mtime_ns)
    for each in Path(programs.repository).glob("packs/*/*"):
        pack = each if each.stat().st_size < pack.stat().st_size else pack
    two_backups(programs, tree)
    pack.unlink()
    checked = programs.repo("check", programs.repository)
    assert checked.code == exits.INTEGRITY
    mended = programs.repo("repair", programs.repository)
    assert re.search(r"\d problems? left, the first: pack: packs/", mended.out)
    assert "what they no longer have is lost: syncova-repo forget LOCATION " in mended.err
    go_out(programs, mended)


def test_the_latest_that_is_left_may_not_be_the_newest(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """3 by the table of exit codes: done, but something was skipped."""
    two_backups(programs, tree)
    lost = newest_manifest(programs)
    overwrite(programs, lost, COPIES + lost)
    words = ("-r", programs.repository, "--target", tmp_path / "out", "--backup")
    planned = programs.agent("restore", *words, "latest", "--dry-run")
    assert planned.code == exits.SKIPPED
    done = programs.agent("restore", *words, "latest", "--json")
    assert (done.code, done.json["state"], done.json["lost_manifests"]) == (exits.SKIPPED, "partial", [lost])
    assert (tmp_path / "out" / "file").read_bytes() == b"1" * 5000
    named = programs.repo("list", programs.repository, "--json").json["backups"][0]["short_id"]
    assert programs.agent("restore", *words, named).code == exits.DONE
    assert programs.agent("restore", *words, "latest", "--overwrite", "always", "--delete", "--yes").code == (
        exits.SKIPPED
    )


def test_a_config_that_is_gone_is_no_absent_repository(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    for name in ("config", "copies/config"):
        shutil.rmtree(Path(programs.repository) / name)
    ended = programs.repo("check", programs.repository)
    assert ended.code == exits.INTEGRITY
    assert "no config is left in" in ended.err
    assert "bring it back from a copy of the repository" in ended.err
    assert programs.repo("create", programs.repository).code != exits.DONE
    shutil.rmtree(Path(programs.repository))
    assert programs.repo("check", programs.repository).code == exits.NO_REPOSITORY


def test_what_was_not_there_is_not_taken_away(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    ended = programs.repo("tag", programs.repository, "latest", "--remove", "nothere")
    assert "had no tag nothere: nothing was taken away" in ended.err
    ended = programs.repo("hold", programs.repository, "latest", "--release")
    assert "had no hold: nothing was changed" in ended.out


def test_all_and_a_part_are_not_read_at_once(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    ended = programs.repo("check", programs.repository, "--read-data", "--read-data-subset", "10%")
    assert ended.code == exits.USAGE


class ReadOnly(LocalStorage):
    """What a mount without writing is."""

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        raise StorageReadOnlyError(f"{name}: nothing can be written here")


@pytest.mark.parametrize("hurt", [True, False])
def test_a_result_that_cannot_be_remembered_is_told(
    programs: Programs, tree: Path, capfd: pytest.CaptureFixture[str], *, hurt: bool
) -> None:
    programs.back_up(tree)
    if hurt:
        pack = max(Path(programs.repository).glob("packs/*/*"), key=lambda path: path.stat().st_size)
        data = pack.read_bytes()
        overwrite_bytes(pack, data[:100] + bytes([data[100] ^ 1]) + data[101:])
    repository = open_repository(ReadOnly(str(programs.repository)), PASSWORD)
    report = check(repository, CheckRequest(read_data=True), Hooks())
    print_report(Terminal(), check_fields(report, read_data=True))
    told = capfd.readouterr().err
    assert "the result could not be remembered" in told
    assert ("the next check will not know of damage" in told) == hurt


def overwrite_bytes(path: Path, data: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(data)
