"""syncova-repo repair: told first, then done; nothing is deleted that has no other copy."""

import os
from pathlib import Path

import pytest

from repositories.console import exits
from tests.cli.programs import Programs


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    (path / "file").write_bytes(os.urandom(200_000))
    return path


def files(programs: Programs, pattern: str) -> list[Path]:
    return [path for path in Path(programs.repository).glob(pattern) if path.is_file()]


def test_nothing_to_repair(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    ended = programs.repo("repair", programs.repository)
    assert (ended.code, ended.err) == (exits.DONE, "")
    verdict, unread, never = ended.out.splitlines()
    assert verdict == "no problems are left in 1 backup; structure only (check --read-data for all)"
    assert unread.startswith("not read now: 2 packs")
    assert never.startswith("never read yet: 2 packs")


def test_what_a_repair_has_read_it_does_not_call_unread(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    ended = programs.repo("repair", programs.repository, "--read-data")
    verdict, proven = ended.out.splitlines()
    assert verdict == "no problems are left in 1 backup; all data was read before"
    assert proven.startswith("proven good: ")
    assert "(100%)" in proven


def test_an_index_that_is_gone(programs: Programs, tree: Path, tmp_path: Path) -> None:
    programs.back_up(tree)
    for path in files(programs, "**/index/*"):
        path.unlink()
    listed = programs.repo("ls", programs.repository, "latest")
    assert listed.code == exits.DONE
    assert "file" in listed.out
    assert "run syncova-repo repair" in listed.err
    told = programs.repo("repair", programs.repository, "--dry-run")
    assert told.code == exits.INTEGRITY
    assert "would: index: " in told.out
    assert not files(programs, "**/index/*")
    assert programs.repo("repair", programs.repository, "--json").json["check"]["ok"]
    whole = programs.repo("check", programs.repository, "--read-data")
    assert (whole.code, whole.err) == (exits.DONE, "")


def test_a_bad_pack_is_set_aside_and_what_it_hurts_is_named(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    pack = max(files(programs, "packs/*/*"), key=lambda path: path.stat().st_size)
    data = bytearray(pack.read_bytes())
    data[1000] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(data)
    ended = programs.repo("repair", programs.repository, "--read-data")
    assert ended.code == exits.INTEGRITY
    ended.assert_harmless()
    assert "lacks 1 object:\n  file\n" in ended.out
    assert "back up the sources again" in ended.err
    (aside,) = files(programs, f"aside/*/{pack.relative_to(programs.repository)}")
    assert aside.read_bytes() == bytes(data)
    assert f"aside: {aside.relative_to(programs.repository)}: " in ended.out
    assert not pack.exists()
    programs.back_up(tree)
    require_all_proven(programs)


def require_all_proven(programs: Programs) -> None:
    """A pack that is gone has nothing to be proven if its content lies elsewhere; a prune forgets it."""
    healed = programs.repo("check", programs.repository, "--read-data")
    assert (healed.code, healed.out.count("(100%)")) == (exits.DONE, 1)
    assert "not read now" not in healed.out
    assert "never read yet" not in healed.out
    assert "1 pack gone and not counted: other packs hold all of the content; a prune tidies that up" in healed.err
    assert programs.repo("prune", programs.repository).code == exits.DONE
    report = programs.repo("check", programs.repository, "--read-data", "--json").json
    assert (report["gone_packs"], report["replaced_packs"], report["exit_code"]) == (0, 0, exits.DONE)
    assert report["proof"]["verified_bytes"] == report["proof"]["bytes"]


def test_a_manifest_that_is_not_void(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    ended = programs.repo("repair", programs.repository, "--adopt", "0123", "--json")
    assert ended.code == exits.FAILED
    assert ended.json["error"]["code"] == "BACKUP_NOT_FOUND"
    assert ended.json["error"]["hint"] == "no void manifest is there, so there is nothing to adopt"


def test_a_run_that_finds_nothing_aside_is_no_dry_run(programs: Programs) -> None:
    for words, dry in (((), False), (("--dry-run",), True)):
        ended = programs.repo("repair", programs.repository, "--remove-aside", "--json", *words)
        assert (ended.code, ended.json["dry_run"]) == (exits.DONE, dry)


def test_what_lies_aside_is_listed_then_removed_when_that_is_confirmed(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    pack = max(files(programs, "packs/*/*"), key=lambda path: path.stat().st_size)
    pack.chmod(0o600)
    pack.write_bytes(b"bad")
    programs.repo("repair", programs.repository)
    told = programs.repo("repair", programs.repository, "--remove-aside", "--dry-run")
    assert (told.code, told.out.count("aside: aside/")) == (exits.DONE, 1)
    assert programs.repo("repair", programs.repository, "--remove-aside").code != exits.DONE
    young = programs.repo("repair", programs.repository, "--remove-aside", "--older-than", "1d", "--yes")
    assert (young.code, young.out) == (exits.DONE, "nothing lies aside\n")
    assert files(programs, "aside/**/*")
    done = programs.repo("repair", programs.repository, "--remove-aside", "--yes", "--json")
    assert (done.code, done.json["removed"], done.json["aside_count"]) == (exits.DONE, 1, 1)
    assert not (programs.repository / "aside").exists()


@pytest.mark.parametrize("words", [("--remove-aside", "--read-data"), ("--older-than", "3d")])
def test_options_that_do_not_go_together(programs: Programs, words: tuple[str, ...]) -> None:
    assert programs.repo("repair", programs.repository, *words).code == exits.USAGE
