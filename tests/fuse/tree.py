"""Nodes of the test file system, and which spellings of a name it takes for one.

Owns names and the switches for them; knows nothing of the protocol.
"""

import errno
import os
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

ROOT = 1


@dataclass(slots=True)
class Spelling:
    """`folds`: names that differ in case are one. `form`: the normal form in which names are stored ("" = as given).

    `lowers`: names are stored in small letters. `lengths`: the longest name. `refuses`: bytes that no name may hold.
    """

    folds: bool = False
    form: str = ""
    lowers: bool = False
    longest: int = 255
    refuses: bytes = b""

    def stored(self, name: bytes) -> bytes:
        """Return how a name will be listed. Raises OSError for one that cannot be."""
        if len(name) > self.longest:
            raise OSError(errno.ENAMETOOLONG, "name too long")
        if set(name) & set(self.refuses):
            raise OSError(errno.EINVAL, "invalid name")
        text = name.decode("utf-8", "surrogateescape")
        text = unicodedata.normalize(self.form, text) if self.form else text  # type: ignore[arg-type]
        return (text.lower() if self.lowers else text).encode("utf-8", "surrogateescape")

    def key(self, name: bytes) -> bytes:
        """Return what all spellings of a name share."""
        stored = self.stored(name)
        if not (self.folds or self.lowers):
            return stored
        return stored.decode("utf-8", "surrogateescape").casefold().encode("utf-8", "surrogateescape")


@dataclass(slots=True)
class Node:
    """One object. `names` of a directory: key → (name as stored, number of the node)."""

    number: int
    mode: int
    owner: tuple[int, int]
    now: int
    device: int = 0
    target: bytes = b""
    parent: int = ROOT
    links: int = 1
    mtime: int = 0
    shown_size: int | None = None
    data: bytearray = field(default_factory=bytearray)
    names: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)
    xattrs: dict[bytes, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mtime = self.now

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def size(self) -> int:
        """The size that is told."""
        if self.shown_size is not None:
            return self.shown_size
        return len(self.target) if stat.S_ISLNK(self.mode) else len(self.data)


class Tree:
    """All nodes, by number. None is ever forgotten: a file that is unlinked while it is open reads on."""

    def __init__(self, spelling: Spelling, now: int) -> None:
        self.spelling = spelling
        self.nodes = {ROOT: Node(ROOT, stat.S_IFDIR | 0o755, (os.geteuid(), os.getegid()), now, links=2)}
        self._next = 2

    def find(self, parent: int, name: bytes) -> Node:
        """Return what a name leads to. Raises OSError."""
        found = self.nodes[parent].names.get(self.spelling.key(name))
        if found is None:
            raise OSError(errno.ENOENT, "no such name")
        return self.nodes[found[1]]

    def make(self, parent: int, name: bytes, mode: int, owner: tuple[int, int], now: int) -> Node:
        """Make an object under a name that is free. Raises OSError."""
        node = Node(self._next, mode, owner, now, parent=parent, links=2 if stat.S_ISDIR(mode) else 1)
        self.put(parent, name, node, now)
        self.nodes[node.number] = node
        self._next += 1
        return node

    def put(self, parent: int, name: bytes, node: Node, now: int) -> None:
        """Give a node a name that is free. Raises OSError."""
        directory, key = self.nodes[parent], self.spelling.key(name)
        if key in directory.names:
            raise OSError(errno.EEXIST, "name is taken")
        directory.names[key] = (self.spelling.stored(name), node.number)
        directory.mtime = now

    def remove(self, parent: int, name: bytes, now: int) -> None:
        """Take a name away. Raises OSError."""
        node, directory = self.find(parent, name), self.nodes[parent]
        if node.is_directory and node.names:
            raise OSError(errno.ENOTEMPTY, "directory is full")
        del directory.names[self.spelling.key(name)]
        directory.mtime = now
        node.links -= 2 if node.is_directory else 1

    def rename(self, old: tuple[int, bytes], new: tuple[int, bytes], now: int) -> None:
        """Move a name onto another, which goes if it is there. Raises OSError."""
        node = self.find(*old)
        there = self.nodes[new[0]].names.get(self.spelling.key(new[1]))
        if there is not None and there[1] == node.number and old[0] == new[0]:
            if self.spelling.key(old[1]) == self.spelling.key(new[1]):
                self.nodes[new[0]].names[self.spelling.key(new[1])] = (self.spelling.stored(new[1]), node.number)
            return
        if there is not None:
            self.remove(*new, now)
        del self.nodes[old[0]].names[self.spelling.key(old[1])]
        self.nodes[old[0]].mtime = now
        self.put(*new, node, now)
        node.parent = new[0]

    def paths(self, number: int) -> Iterable[bytes]:
        """Yield the name of a node as it is stored, once for each place it is known to be in."""
        for name, known in self.nodes[self.nodes[number].parent].names.values():
            if known == number:
                yield name
