"""Listing trees: text order over files and directories, going on behind a name, several directories at a time."""

import threading

import pytest

from repositories.engine.errors import StorageUnreachableError
from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.walking import Listed, walk

NAMES = [f"packs/{number % 70:02x}/{number:04}" for number in range(300)]
NAMES += ["packs-x", "packs/zz", "index/a", "r"]


def scan(prefix: str) -> Listed:
    below = [name.removeprefix(prefix) for name in NAMES if name.startswith(prefix)]
    directories = {prefix + name.partition("/")[0] + "/" for name in below if "/" in name}
    return Listed(tuple(directories), tuple(StoredObject(prefix + name, 1) for name in below if "/" not in name))


def listed(prefix: str = "", after: str = "") -> list[str]:
    return [stored.name for stored in walk(prefix, after, scan, 4)]


def test_names_come_in_text_order() -> None:
    assert listed() == sorted(NAMES)
    assert listed("packs/") == sorted(name for name in NAMES if name.startswith("packs/"))
    assert listed("none/") == []


@pytest.mark.parametrize("at", [0, 1, 57, 150, 299, 303])
def test_a_listing_goes_on_behind_a_name(at: int) -> None:
    whole = sorted(NAMES)
    assert listed(after=whole[at]) == whole[at + 1 :]


def test_several_directories_are_looked_into_at_once() -> None:
    meeting = threading.Barrier(4)

    def together(prefix: str) -> Listed:
        if prefix.count("/") == 2 and prefix < "packs/04/":
            meeting.wait(10)
        return scan(prefix)

    assert len(list(walk("packs/", "", together, 4))) == 301


def test_a_failing_directory_is_told_and_leaves_no_thread() -> None:
    def broken(prefix: str) -> Listed:
        if prefix == "packs/20/":
            raise StorageUnreachableError("far away", hint="wait")
        return scan(prefix)

    with pytest.raises(StorageUnreachableError):
        list(walk("", "", broken, 4))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("syncova-scan")]
