"""What `find` looks for, and whether an entry is that.

Owns the meaning of patterns: `*`, `?` and `[…]` as a shell has them, `*` crossing slashes in a path. Reads nothing.
"""

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass

from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.manifest.order import join

Matches = Callable[[bytes, Entry], bool]
"""Told (directory, entry), directory relative to the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """All that are given must hold. `patterns` match a name, or a path where they have a slash; one of them must.

    A path begins at the source, or, where its pattern begins with a slash, at the root of the source's file system.
    Sizes (in bytes) hold for files alone. `newer_ns` is the first moment that counts, `older_ns` the first that does
    not.
    """

    patterns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    types: frozenset[int] = frozenset()
    larger: int | None = None
    smaller: int | None = None
    newer_ns: int | None = None
    older_ns: int | None = None
    ignore_case: bool = False


def matcher(wanted: Criteria, root: bytes) -> Matches:
    """Return the test for entries of a source that lies at `root`."""
    tests: list[Matches] = []
    if wanted.types:
        tests.append(lambda _, entry: entry.type in wanted.types)
    tests += _figures(wanted)
    if wanted.names:
        tests.append(_any_of([_by_name(each, wanted) for each in wanted.names]))
    if wanted.paths:
        tests.append(_any_of([_by_path(each, wanted, root) for each in wanted.paths]))
    if wanted.patterns:
        kinds = [_by_path(each, wanted, root) if "/" in each else _by_name(each, wanted) for each in wanted.patterns]
        tests.append(_any_of(kinds))
    return lambda directory, entry: all(test(directory, entry) for test in tests)


def _any_of(tests: list[Matches]) -> Matches:
    return tests[0] if len(tests) == 1 else lambda directory, entry: any(test(directory, entry) for test in tests)


def _figures(wanted: Criteria) -> list[Matches]:
    tests: list[Matches] = []
    larger, smaller, newer, older = wanted.larger, wanted.smaller, wanted.newer_ns, wanted.older_ns
    if larger is not None:
        tests.append(lambda _, entry: entry.type == EntryType.FILE and entry.size > larger)
    if smaller is not None:
        tests.append(lambda _, entry: entry.type == EntryType.FILE and entry.size < smaller)
    if newer is not None:
        tests.append(lambda _, entry: entry.mtime_ns >= newer)
    if older is not None:
        tests.append(lambda _, entry: entry.mtime_ns < older)
    return tests


def _by_name(pattern: str, wanted: Criteria) -> Matches:
    match = _glob(pattern, wanted)
    return lambda _, entry: match(_text(entry.name)) is not None


def _by_path(pattern: str, wanted: Criteria, root: bytes) -> Matches:
    match = _glob(pattern, wanted)
    start = root.rstrip(b"/") + b"/" if pattern.startswith("/") else b""
    return lambda directory, entry: match(_text(start + join(directory, entry.name))) is not None


def _glob(pattern: str, wanted: Criteria) -> Callable[[str], "re.Match[str] | None"]:
    # The library makes each run up to a star's successor atomic: no pattern needs exponential time.
    return re.compile(fnmatch.translate(pattern), re.IGNORECASE if wanted.ignore_case else re.NOFLAG).match


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
