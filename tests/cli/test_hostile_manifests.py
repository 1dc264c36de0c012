"""Manifests made by hand, as the programs meet them: exit 13, a message that names the object, no traceback (2.12)."""

from pathlib import Path

import pytest

from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import Programs
from tests.engine.hostile.evil import DIRECTORY, LINK, Evil, hole, item
from tests.engine.hostile.test_manifests import Attack, doubling, in_groups, in_root
from tests.engine.repositories import PASSWORD

ESCAPE = b"\x1b[31mred"
ATTACKS: dict[str, tuple[Attack, str]] = {
    "a name": (in_root(hole(b"../" + ESCAPE)), r"\x1b[31mred"),
    "an order": (in_root(hole(b"b"), hole(b"a" + ESCAPE)), r"a\x1b[31mred"),
    "a value": (in_root(hole(ESCAPE, uid=-1)), r"\x1b[31mred"),
    "a link as a parent": (
        in_groups((b"", [item(b"d", LINK, target=b"..", size=2), item(b"d", DIRECTORY)]), (b"d", [hole(b"x")])),
        "'d'",
    ),
    "pages without end": (lambda evil: doubling(evil, 60, keys=True), "manifest page"),
}
ROOTS: dict[str, Attack] = {
    "no root": lambda evil: evil.commit_bytes(b"\x1b[31m"),
    "a root whose top is a link": lambda evil: evil.commit(pages=None, top=item(b".", LINK, target=b"/etc", size=4)),
}


def attacked(programs: Programs, attack: Attack) -> None:
    evil = Evil.__new__(Evil)
    evil.repository = open_repository(LocalStorage(str(programs.repository)), PASSWORD)
    attack(evil)


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize("attack", ATTACKS)
def test_every_verb_refuses_it_by_name(programs: Programs, attack: str, form: tuple[str, ...], tmp_path: Path) -> None:
    attacked(programs, ATTACKS[attack][0])
    verbs = {
        "ls": ("latest", "--recursive"),
        "find": ("*",),
        "dump": ("latest", "--output", str(tmp_path / "out.tar")),
        "check": (),
    }
    for verb, words in verbs.items():
        ended = programs.repo(verb, "-r", programs.repository, *words, *form)
        assert ended.code == 13, (verb, ended)
        ended.assert_harmless()
        assert "Traceback" not in ended.err
    ended = programs.agent(
        "restore", "-r", programs.repository, "--backup", "latest", "--target", tmp_path / "target", *form
    )
    assert ended.code == 13
    ended.assert_harmless()
    assert ATTACKS[attack][1].replace("\\", "") in (ended.out + ended.err).replace("\\", "")
    assert not (tmp_path / "red").exists()


@pytest.mark.parametrize("attack", ROOTS)
@pytest.mark.parametrize("verb", [("list",), ("show", "latest"), ("info",), ("ls", "latest"), ("check",)])
def test_a_root_that_is_none_is_named(programs: Programs, attack: str, verb: tuple[str, ...]) -> None:
    attacked(programs, ROOTS[attack])
    ended = programs.repo(verb[0], "-r", programs.repository, *verb[1:])
    # What `info` tells is right; it only warns.
    assert ended.code == (0 if verb == ("info",) else 13), ended
    ended.assert_harmless()
    assert "manifests/" in ended.out + ended.err
