"""Which objects of a source are left out: the dialect of gitignore, and why a rule decides.

Owns matching. Paths are relative to the source; a directory that is left out is not entered, so nothing below it
can be taken back in (as git has it). Rules are text; names that are no UTF-8 are matched by surrogates.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pathspec
from pathspec.patterns.gitignore.base import GitIgnorePatternError

from repositories.engine.display import show_path, show_text
from repositories.engine.errors import ConfigurationError

# The group by which the library marks that a rule matched a directory above the path, not the path itself.
_DIRECTORY_MARK = "ps_d"
_STAR = "[^/]*"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a path is in or out: `rule` is the deciding rule, `decided_at` the path (or directory above) it matched."""

    decided_at: bytes
    rule: str | None = None
    rule_number: int | None = None
    excluded: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    number: int
    text: str
    excludes: bool
    regex: re.Pattern[str]
    marked: bool
    directories_only: bool


class ExcludeRules:
    """Compiled rules; the last one that matches decides. Falsy when there is none."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Compile `patterns`; raises ConfigurationError that names the first bad one."""
        rules = [rule for number, text in enumerate(patterns, start=1) if (rule := _compile(number, text)) is not None]
        self._newest_first = tuple(reversed(rules))

    def __bool__(self) -> bool:
        return bool(self._newest_first)

    def excludes(self, path: bytes, *, is_directory: bool) -> bool:
        """Return whether the rules leave `path` out, its parents being in."""
        rule = self._decide(path, is_directory=is_directory)
        return rule is not None and rule.excludes

    def explain(self, path: bytes, *, is_directory: bool) -> Explanation:
        """Return which rule decides about `path`, looking at the directories above it first."""
        parts = path.split(b"/")
        for depth in range(1, len(parts)):
            above = b"/".join(parts[:depth])
            rule = self._decide(above, is_directory=True)
            if rule is not None and rule.excludes:
                return Explanation(above, rule.text, rule.number, excluded=True)
        rule = self._decide(path, is_directory=is_directory)
        if rule is None:
            return Explanation(path)
        return Explanation(path, rule.text, rule.number, excluded=rule.excludes)

    def _decide(self, path: bytes, *, is_directory: bool) -> _Rule | None:
        # A line break would end `.` and `$` in the middle of a name; names never hold NUL.
        name = os.fsdecode(path).replace("\n", "\0")
        for rule in self._newest_first:
            if rule.directories_only and not is_directory:
                continue
            # Only rules for directories see the slash: `a/**` is about what lies in `a`, not about `a`.
            text = name + "/" if rule.directories_only else name
            if _matches(rule, text):
                return rule
        return None


def _matches(rule: _Rule, text: str) -> bool:
    """Return whether a rule is about this very path: what it says about a directory above was asked there."""
    if not rule.marked:
        return rule.regex.search(text) is not None
    own = (-1, len(text) - 1)
    return any(match.start(_DIRECTORY_MARK) in own for match in rule.regex.finditer(text))


def _compile(number: int, text: str) -> _Rule | None:
    if "\0" in text or "\n" in text:
        raise ConfigurationError(f"exclude rule {number} holds a line break or NUL", hint="give one rule per line")
    try:
        # The library takes `a/**/` for `a/`; git means the directories in `a`.
        spec = pathspec.GitIgnoreSpec.from_lines([text + "*/" if text.endswith("/**/") else text])
    except GitIgnorePatternError as error:
        raise ConfigurationError(
            f"exclude rule {number} is not a gitignore pattern: {show_text(text)}", hint="correct it or leave it out"
        ) from error
    for pattern in spec.patterns:
        if pattern.include is not None and isinstance(pattern, pathspec.RegexPattern) and pattern.regex is not None:
            regex = re.compile(_without_backtracking(pattern.regex.pattern), pattern.regex.flags)
            return _Rule(
                number, text, pattern.include, regex, _DIRECTORY_MARK in regex.groupindex, text.rstrip().endswith("/")
            )
    return None


def _without_backtracking(regex: str) -> str:
    """Return an expression that matches the same in linear time where a name has several wildcards.

    A star that a literal follows may take the first place where the literal is and never needs another: only what
    follows the last star is bound to the end. Without this, `*a*a*a*a*b` takes minutes for one long name.
    """
    first, *rest = regex.split(_STAR)
    parts = [first]
    for literal in rest[:-1]:
        # With a group in it, it is no mere literal: left as it is.
        parts.append(f"{_STAR}{literal}" if "(" in literal else f"(?>{_STAR}?{literal})")
    if rest:
        parts.append(f"{_STAR}{rest[-1]}")
    return "".join(parts)


def explain(root: bytes, path: bytes, patterns: Sequence[str]) -> Explanation:
    """Return why `path` (absolute, or relative to the source `root`) is in or out of a backup of `root`.

    Raises ConfigurationError for a path outside the source and for bad rules. Only the type of `path` is looked
    up on disk; a path that does not exist is taken for a file unless it ends with a slash.
    """
    full = path if path.startswith(b"/") else os.path.join(root, path)
    relative = os.path.relpath(os.path.normpath(full), os.path.normpath(root))
    if relative == b".." or relative.startswith(b"../"):
        raise ConfigurationError(
            f"{show_path(path)} lies outside the source {show_path(root)}", hint="give a path below the source"
        )
    if relative == b".":
        return Explanation(b"")
    is_directory = path.endswith(b"/") or (os.path.isdir(full) and not os.path.islink(full))
    return ExcludeRules(patterns).explain(relative, is_directory=is_directory)
