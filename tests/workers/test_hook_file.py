"""The file of hooks: what it may hold, and who may have written it (6.4, execution.md, section 3)."""

import os
from pathlib import Path

import pytest

from workers.hook_file import Decision, HooksFileError, load_hooks

GOOD = """
[hooks.dump]
argv = ["/usr/bin/dump", "--all", "a b; rm -rf /"]
seconds = 1.5
exits = { 75 = "skip", 1 = "warn" }
[hooks.bare]
argv = ["/bin/true"]
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "conf").mkdir(mode=0o755)
    return tmp_path / "conf" / "hooks.toml"


def written(place: Path, text: str, mode: int = 0o644) -> Path:
    place.write_text(text)
    place.chmod(mode)
    return place


def test_hooks_are_words_and_decisions(place: Path) -> None:
    """Words stay words: no shell reads them."""
    hooks = load_hooks(written(place, GOOD))
    dump, bare = hooks["dump"], hooks["bare"]
    assert (dump.argv[2], dump.seconds) == ("a b; rm -rf /", 1.5)
    assert [dump.decide(code) for code in (0, 1, 75, 2, -9)] == [
        Decision.GO_ON,
        Decision.WARN,
        Decision.SKIP,
        Decision.FAIL,
        Decision.FAIL,
    ]
    assert (bare.seconds, bare.decide(1)) == (300.0, Decision.FAIL)


@pytest.mark.parametrize(
    "text",
    [
        "hooks",
        "[hooks.a]\nargv = 'ls /'",
        "[hooks.a]\nargv = []",
        "[hooks.a]\nargv = ['ls']",
        "[hooks.a]\nargv = ['/bin/ls', 1]",
        "[hooks.a]\nargv = ['/bin/ls']\nshell = true",
        "[hooks.a]\nargv = ['/bin/ls']\nseconds = 0",
        "[hooks.a]\nargv = ['/bin/ls']\nseconds = true",
        "[hooks.a]\nargv = ['/bin/ls']\nexits = { 0 = 'fail' }",
        "[hooks.a]\nargv = ['/bin/ls']\nexits = { 1 = 'maybe' }",
        "[hooks.a]\nargv = ['/bin/ls']\nexits = 1",
        "[hooks.'a b']\nargv = ['/bin/ls']",
        "[other]\nx = 1",
        "x" * 300_000,
    ],
)
def test_what_is_no_hook_is_refused(place: Path, text: str) -> None:
    with pytest.raises(HooksFileError):
        load_hooks(written(place, text))


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_that_others_may_write_is_refused(place: Path, mode: int) -> None:
    with pytest.raises(HooksFileError, match="by others"):
        load_hooks(written(place, GOOD, mode))


def test_a_directory_that_others_may_write_is_refused(place: Path) -> None:
    written(place, GOOD)
    place.parent.chmod(0o777)
    with pytest.raises(HooksFileError, match="by others"):
        load_hooks(place)


def test_a_link_a_directory_and_nothing_are_refused(place: Path) -> None:
    written(place.with_name("real.toml"), GOOD)
    with pytest.raises(HooksFileError, match="cannot be opened"):
        load_hooks(place)
    place.symlink_to("real.toml")
    with pytest.raises(HooksFileError, match="cannot be opened"):
        load_hooks(place)
    place.unlink()
    place.mkdir()
    with pytest.raises(HooksFileError):
        load_hooks(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(place: Path) -> None:
    """A worker that is root must not run what the service's user has written."""
    os.chown(written(place, GOOD), 65534, -1)
    with pytest.raises(HooksFileError, match="another user"):
        load_hooks(place)
