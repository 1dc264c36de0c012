"""2.13: random trees, changed at random between backups; every backup of the sequence restores as the tree was."""

import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.manifest.backups import list_backups
from repositories.engine.restore import RestoreRequest, restore
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import assert_same, describe, pattern

NAMES = [b"a", b"b", b"a!", b"\xff", b"\n", b"c" * 200, b" ", b"a\xe2\x80\xae"]
path = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(tuple)
size = st.sampled_from([0, 1, 5, 300, 300_000, 1_500_000])
action = st.one_of(
    st.tuples(st.just("file"), path, size, st.integers(0, 3)),
    st.tuples(st.just("directory"), path),
    st.tuples(st.just("link"), path, st.sampled_from([b"a", b"../x", b"/etc/passwd", b"\xff"])),
    st.tuples(st.just("fifo"), path),
    st.tuples(st.just("hard"), path, path),
    st.tuples(st.just("sparse"), path, st.integers(1, 3_000_000)),
    st.tuples(st.just("mode"), path, st.sampled_from([0o600, 0o755, 0o4711, 0o500])),
    st.tuples(st.just("time"), path, st.integers(-(10**18), 3 * 10**18)),
    st.tuples(st.just("remove"), path),
    st.tuples(st.just("rename"), path, path),
)


def act(root: bytes, step: tuple[object, ...]) -> None:
    """Do one step; what is impossible in this tree is left."""
    kind, parts, *rest = step
    target = os.path.join(root, *parts)  # type: ignore[misc]
    try:
        if kind != "remove":
            os.makedirs(os.path.dirname(target), exist_ok=True)
        _act(root, str(kind), target, rest)
    except OSError:
        return


def _act(root: bytes, kind: str, target: bytes, rest: list[Any]) -> None:
    actions: dict[str, Callable[..., object]] = {
        "file": lambda length, seed: _write(target, os.O_TRUNC, pattern(length, seed)),
        "directory": lambda: os.mkdir(target),
        "link": lambda to: os.symlink(to, target),
        "fifo": lambda: os.mkfifo(target),
        "hard": lambda other: os.link(os.path.join(root, *other), target, follow_symlinks=False),
        "sparse": lambda length: _write(target, os.O_APPEND, b"", length),
        "mode": lambda mode: _set_mode(target, mode),
        "time": lambda ns: os.utime(target, ns=(ns, ns), follow_symlinks=False),
        "rename": lambda other: os.rename(os.path.join(root, *other), target),
        "remove": lambda: _remove(target),
    }
    actions[kind](*rest)


def _write(target: bytes, flags: int, data: bytes, length: int | None = None) -> None:
    # O_NONBLOCK: where a FIFO stands by now, this must fail, not wait for a reader.
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | flags, 0o644)
    with open(descriptor, "wb") as file:
        file.write(data)
        if length is not None:
            file.truncate(length)


def _set_mode(target: bytes, mode: int) -> None:
    if not os.path.islink(target):
        os.chmod(target, mode | (0o700 if os.path.isdir(target) else 0o400))


def _remove(target: bytes) -> None:
    if os.path.isdir(target) and not os.path.islink(target):
        shutil.rmtree(target)
    else:
        os.unlink(target)


@given(st.lists(st.lists(action, max_size=10), min_size=2, max_size=4))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_backup_of_a_sequence_restores_identical(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[tuple[object, ...]]]
) -> None:
    base = tmp_path_factory.mktemp("random")
    tree = base / "tree"
    tree.mkdir()
    repository = make_repository()
    states = []
    for steps in rounds:
        for step in steps:
            act(os.fsencode(tree), step)
        assert back_up_tree(repository, tree, accept_new_root=True).skipped == 0
        states.append(describe(tree))
    for number, (backup, before) in enumerate(zip(list_backups(repository), states, strict=True)):
        out = base / f"out{number}"
        assert restore(repository, backup, RestoreRequest(os.fsencode(out), verify=True), Hooks()).exit_code == 0
        assert_same(before, describe(out))
    assert check(repository, CheckRequest(read_data=True), Hooks()).ok
    shutil.rmtree(base)
