"""Where sources may lie (execution.md, section 3)."""

import pytest

from jobs.source_paths import lies_in, normalise, refusal


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        (b"/home", b"/home"),
        (b"/home/", b"/home"),
        (b"//home//alice/./y/", b"/home/alice/y"),
        (b"/home/..x/...", b"/home/..x/..."),
        (b"/", b"/"),
        (b"///", b"/"),
        (b"/a\xff\n\x1b[31m", b"/a\xff\n\x1b[31m"),
        (b"/home ", b"/home "),
    ],
)
def test_one_form_of_a_path(path: bytes, normal: bytes) -> None:
    assert normalise(path) == normal
    assert normalise(normal) == normal


@pytest.mark.parametrize("path", [b"", b"home", b"./x", b"/home/../etc//x/./", b"/..", b"/a\0b", b"/" + b"x" * 2000])
def test_what_is_no_path(path: bytes) -> None:
    with pytest.raises(ValueError, match="must"):
        normalise(path)


@pytest.mark.parametrize(
    ("path", "roots", "allowed"),
    [
        (b"/home/alice", [b"/"], True),
        (b"/", [b"/"], True),
        (b"/home/alice", [b"/home"], True),
        (b"/home", [b"/home/"], True),
        (b"/homestead", [b"/home"], False),
        (b"/", [b"/home"], False),
        (b"/srv/x", [b"/home", b"/srv"], True),
        (b"/x", [], False),
        (b"/var/lib/syncova", [b"/"], False),
        (b"/var/lib/syncova/secrets", [b"/"], False),
        # The parent is fine: the engine leaves the data out.
        (b"/var/lib", [b"/"], True),
        (b"/var/lib/syncova2", [b"/"], True),
    ],
)
def test_roots_and_own_data(path: bytes, roots: list[bytes], allowed: bool) -> None:
    assert (refusal(path, roots, [b"/var/lib/syncova"]) is None) is allowed


def test_below_is_by_whole_names() -> None:
    assert lies_in(b"/a/b", b"/a")
    assert not lies_in(b"/ab", b"/a")
    assert not lies_in(b"/a", b"/a/b")
