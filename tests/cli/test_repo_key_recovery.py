"""syncova-repo key: the code overcomes a lost password, and one that opens nothing is explained (3.5)."""

import shutil
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.storage.local import LocalStorage
from tests.cli.keys import NEW, key
from tests.cli.programs import Programs
from tests.engine.keychain.chains import opens

pytestmark = pytest.mark.usefixtures("cheap_keys")


def test_a_lost_password_is_overcome_with_the_code_alone(
    programs: Programs, new_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3.5: a machine that has the repository, the code as it was typed from paper, and nothing else."""
    code = key(programs, "recovery-code", programs.repository, "--json").json["recovery_code"]
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(b"content")
    programs.back_up(tree)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(programs.repository, elsewhere / "repo")
    shutil.rmtree(programs.repository)
    monkeypatch.setenv("XDG_STATE_HOME", str(elsewhere / "state"))
    paper = elsewhere / "paper"
    paper.write_text(f"  {code.lower().replace('-', ' ').replace('0', 'o')}\n")
    paper.chmod(0o600)
    given = ("--password-file", str(paper))
    words = ("-r", elsewhere / "repo", "--backup", "latest", "--target", elsewhere / "out", *given)
    assert programs.agent("restore", *words, secret=False).code == exits.DONE
    assert (elsewhere / "out" / "file").read_bytes() == b"content"
    added = key(programs, "add", elsewhere / "repo", "--new-password-file", new_file, *given, secret=False)
    assert added.code == exits.DONE
    assert opens(LocalStorage(str(elsewhere / "repo")), NEW.encode())


def test_a_code_that_does_not_open_is_explained_and_not_shown(programs: Programs, tmp_path: Path) -> None:
    old = key(programs, "recovery-code", programs.repository, "--json").json["recovery_code"]
    new = key(programs, "recovery-code", programs.repository, "--replace", "--json").json["recovery_code"]
    exchanged = next(new[:at] + new[at + 1] + new[at] + new[at + 2 :] for at in range(9) if _differ(new, at))
    for typed, told in (
        (exchanged, "two are exchanged"),
        (new[:-1], "fewer than 36"),
        (new + "x", "more than 36"),
        (old, "a newer code has replaced it"),
        ("wrong password", "check the password"),
    ):
        (tmp_path / "typed").write_text(typed)
        (tmp_path / "typed").chmod(0o600)
        words = (programs.repository, "--json", "--password-file", tmp_path / "typed")
        ended = key(programs, "list", *words, secret=False)
        assert (ended.code, ended.json["error"]["code"]) == (exits.WRONG_KEY, "WRONG_PASSWORD")
        assert told in ended.json["error"]["hint"]
        assert typed not in ended.out + ended.err


def _differ(code: str, at: int) -> bool:
    return "-" not in code[at : at + 2] and code[at] != code[at + 1]
