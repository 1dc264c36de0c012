"""The way of a walk: the directory that it stands in, and those that it has still to enter, in manifest order.

Owns the order alone, depth-first, and asks no file system: whoever follows a walk that another process does goes the
same way. Memory: the names of the directories still to enter on the way down.
"""

from repositories.engine.manifest.order import join


class Way:
    """Begins at the root. `path` is where the walk stands, relative to the source."""

    def __init__(self) -> None:
        self.path = b""
        self._pending: list[list[bytes]] = []
        self._lengths: list[int] = []

    @property
    def depth(self) -> int:
        """How many directories lie between the root and `path`."""
        return len(self._lengths)

    def met(self, below: list[bytes]) -> None:
        """Take the names, sorted, of the directories to enter that the listing of `path` has shown."""
        self._pending.append(below[::-1])

    def coming(self) -> tuple[bytes, bytes] | None:
        """Leave what has nothing more below it; return path and name of the directory that comes next, None at the end.

        It is not asked for again: whoever does not `enter` it leaves it out.
        """
        while self._pending:
            names = self._pending[-1]
            if names:
                name = names.pop()
                return join(self.path, name), name
            self._pending.pop()
            if self._lengths:
                self.path = self.path[: self._lengths.pop()]
        return None

    def enter(self, path: bytes) -> None:
        """Stand in the directory that `coming` gave last; its listing is `met` next."""
        self._lengths.append(len(self.path))
        self.path = path
