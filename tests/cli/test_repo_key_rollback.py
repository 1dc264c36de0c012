"""syncova-repo key: an earlier state of a repository keeps its keys, and old keys are known (3.14)."""

import shutil
from pathlib import Path

import pytest

from repositories.console import exits
from tests.cli.keys import key
from tests.cli.programs import Programs

pytestmark = pytest.mark.usefixtures("cheap_keys")


def put_back(programs: Programs, older: Path) -> None:
    shutil.rmtree(programs.repository)
    shutil.copytree(older, programs.repository)


@pytest.fixture
def older(programs: Programs, tmp_path: Path) -> Path:
    """Return a copy of the repository from before its second backup, which takes its place."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(b"content")
    programs.back_up(tree)
    shutil.copytree(programs.repository, tmp_path / "older")
    programs.back_up(tree)
    put_back(programs, tmp_path / "older")
    return tmp_path / "older"


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_keys_of_an_earlier_state_are_not_changed(programs: Programs, new_file: Path, older: Path) -> None:
    """3.14: a key that is added to an old copy, or removed there, is not so in the true repository."""
    for verb, *words in (
        ("add", "--new-password-file", str(new_file)),
        ("change", "--new-password-file", str(new_file)),
        ("remove", "recovery code"),
        ("recovery-code",),
        ("rotate", "--yes", "--keep-file", str(programs.password_file)),
    ):
        refused = key(programs, verb, programs.repository, *words, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (exits.FAILED, "REPOSITORY_ROLLED_BACK")
        assert "--accept-rollback" in refused.json["error"]["hint"]
    listed = key(programs, "list", programs.repository)
    assert (listed.code, "earlier state" in listed.err) == (exits.DONE, True)
    assert contents(programs.repository) == contents(older)
    assert programs.repo("check", programs.repository, "--accept-rollback").code == exits.DONE
    assert key(programs, "add", programs.repository, "--new-password-file", new_file).code == exits.DONE


def test_old_keys_are_known_after_a_rotation(programs: Programs, tmp_path: Path) -> None:
    """The same password opens the copy from before: what remembers is the machine that rotated."""
    shutil.copytree(programs.repository, tmp_path / "older")
    assert (
        key(programs, "rotate", programs.repository, "--yes", "--keep-file", programs.password_file).code == exits.DONE
    )
    put_back(programs, tmp_path / "older")
    assert "generation 1, while generation 2" in programs.repo("list", programs.repository).err


def test_a_removed_password_that_is_put_back_is_known(programs: Programs, new_file: Path, tmp_path: Path) -> None:
    key(programs, "add", programs.repository, "--new-password-file", new_file, "--label", "x")
    shutil.copytree(programs.repository, tmp_path / "older")
    assert key(programs, "remove", programs.repository, "x").code == exits.DONE
    shutil.copytree(tmp_path / "older" / "slots", programs.repository / "slots", dirs_exist_ok=True)
    refused = key(programs, "remove", programs.repository, "x", "--json")
    assert refused.json["error"]["code"] == "REPOSITORY_ROLLED_BACK"
    assert "is there again" in refused.json["error"]["message"]
