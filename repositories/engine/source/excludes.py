"""Which objects of a source are left out: the dialect of gitignore (docs/excludes.md), and which rule decides.

Owns the choice among rules. Paths are relative to the source; a directory that is left out is not entered, so nothing
below it can be taken back in (as git has it). Rules are text; names that are no UTF-8 are matched by surrogates.
Rules without wildcards, or with one star before an ending, are looked up: many of them cost no more than one.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from repositories.engine.display import show_text
from repositories.engine.errors import ConfigurationError
from repositories.engine.source.expressions import expression
from repositories.engine.source.malformed import MalformedRuleError
from repositories.engine.source.patterns import Pattern, parse

MAX_RULES = 100_000
MAX_COMPILED = 1024 * 1024
"""Characters of all rules that need an expression: compiling them takes some seconds at most."""

_SHOWN = 80
_LIKE_OTHERS = str.maketrans({"\u017f": "s", "\u0131": "i", "\u0130": "i"})
"""Letters that count as equal to an ASCII one without regard to case, but keep apart when made small."""


class Explanation(msgspec.Struct, frozen=True):
    """Why a path is in or out: `rule` is the deciding rule, `decided_at` the path (or directory above) it matched."""

    decided_at: bytes
    rule: str | None = None
    rule_number: int | None = None
    excluded: bool = False


class Rule(msgspec.Struct, frozen=True):
    """A rule and its place among the others, from 1 on."""

    number: int
    text: str
    pattern: Pattern
    regex: re.Pattern[str] | None

    def fits(self, path: str, name: str, *, is_directory: bool) -> bool:
        """Return whether its expression matches."""
        if self.regex is None or (self.pattern.directories_only and not is_directory):
            return False
        return self.regex.match(path if self.pattern.anchored else name) is not None


_Table = dict[str, list[Rule]]


class _Tables(msgspec.Struct):
    """Rules by what they can be looked up with; the newest stands last in each list."""

    names: _Table = msgspec.field(default_factory=dict)
    paths: _Table = msgspec.field(default_factory=dict)
    endings: dict[int, _Table] = msgspec.field(default_factory=dict)
    others: list[Rule] = msgspec.field(default_factory=list)


class ExcludeRules:
    """Compiled rules; the last one that matches decides. Falsy when there is none."""

    def __init__(self, patterns: Sequence[str], *, ignoring_case: bool = False) -> None:
        """Compile `patterns`; raises ConfigurationError that names the first bad one."""
        if len(patterns) > MAX_RULES:
            raise ConfigurationError(
                f"there are {len(patterns):,} exclude rules, more than {MAX_RULES:,}", hint="use wildcards"
            )
        self._texts = tuple(patterns)
        self._ignoring_case = ignoring_case
        self._tables = _Tables()
        self._any = False
        self._excluding = 0
        compiled = 0
        for number, text in enumerate(patterns, start=1):
            rule = self._compile(number, text)
            if rule is None:
                continue
            self._any = True
            self._excluding += rule.pattern.excludes
            self._file(rule)
            compiled += len(text) if rule.regex is not None else 0
            if compiled > MAX_COMPILED:
                raise ConfigurationError(
                    f"the exclude rules with wildcards have more than {MAX_COMPILED:,} characters (rule {number})",
                    hint="name directories instead of what lies in them",
                )
        self._newest_first = tuple(reversed(self._tables.others))

    def __bool__(self) -> bool:
        return self._any

    @property
    def excluding(self) -> int:
        """How many rules leave something out, should they match: comments and those with ! are none."""
        return self._excluding

    def text(self, number: int) -> str:
        """Return the rule of a number, as it was given."""
        return self._texts[number - 1]

    def excludes(self, path: bytes, *, is_directory: bool) -> bool:
        """Return whether the rules leave `path` out, its parents being in."""
        rule = self.decide(path, is_directory=is_directory)
        return rule is not None and rule.pattern.excludes

    def explain(self, path: bytes, *, is_directory: bool) -> Explanation:
        """Return which rule decides about `path`, looking at the directories above it first."""
        parts = path.split(b"/")
        for depth in range(1, len(parts)):
            above = b"/".join(parts[:depth])
            rule = self.decide(above, is_directory=True)
            if rule is not None and rule.pattern.excludes:
                return Explanation(above, rule.text, rule.number, excluded=True)
        rule = self.decide(path, is_directory=is_directory)
        if rule is None:
            return Explanation(path)
        return Explanation(path, rule.text, rule.number, excluded=rule.pattern.excludes)

    def decide(self, path: bytes, *, is_directory: bool) -> Rule | None:
        """Return the rule that decides about `path`, if there is one, its parents being in."""
        text = path.decode("utf-8", "surrogateescape")
        name = text.rpartition("/")[2]
        best: Rule | None = None
        for candidates in self._looked_up(*((_folded(text), _folded(name)) if self._ignoring_case else (text, name))):
            best = _newer(best, candidates, is_directory=is_directory)
        for rule in self._newest_first:
            if best is not None and rule.number < best.number:
                break
            if rule.fits(text, name, is_directory=is_directory):
                return rule
        return best

    def _looked_up(self, path: str, name: str) -> Iterable[list[Rule]]:
        tables = self._tables
        if tables.names and (found := tables.names.get(name)) is not None:
            yield found
        if tables.paths and (found := tables.paths.get(path)) is not None:
            yield found
        for length, endings in tables.endings.items():
            if (found := endings.get(name[-length:])) is not None:
                yield found

    def _file(self, rule: Rule) -> None:
        pattern, tables = rule.pattern, self._tables
        if rule.regex is not None:
            tables.others.append(rule)
        elif pattern.literal is not None:
            (tables.paths if pattern.anchored else tables.names).setdefault(self._key(pattern.literal), []).append(rule)
        elif pattern.suffix is not None:
            ending = self._key(pattern.suffix)
            tables.endings.setdefault(len(ending), {}).setdefault(ending, []).append(rule)

    def _compile(self, number: int, text: str) -> Rule | None:
        try:
            pattern = parse(text)
            if pattern is None:
                return None
            known = pattern.literal if pattern.literal is not None else pattern.suffix
            # Beyond ASCII, upper and lower case are left to expressions: they know the letters' kin.
            if known and (known.isascii() or not self._ignoring_case):
                return Rule(number, text, pattern, None)
            return Rule(number, text, pattern, expression(pattern, ignoring_case=self._ignoring_case))
        except MalformedRuleError as error:
            shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
            raise ConfigurationError(
                f"exclude rule {number} can match nothing: {show_text(shown)}: {error}",
                hint="correct it or leave it out; docs/excludes.md tells how rules are written",
            ) from error

    def _key(self, text: str) -> str:
        return _folded(text) if self._ignoring_case else text


def _newer(best: Rule | None, candidates: list[Rule], *, is_directory: bool) -> Rule | None:
    for rule in reversed(candidates):
        if best is not None and rule.number < best.number:
            return best
        if is_directory or not rule.pattern.directories_only:
            return rule
    return best


def _folded(text: str) -> str:
    return text.translate(_LIKE_OTHERS).lower()
