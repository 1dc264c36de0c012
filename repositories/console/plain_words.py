"""Reads a command line that is plainly right, without the library that parses any.

Owns the rule what is plain: known options in full, each value a word of its own or behind =, nothing given twice that
counts once. Everything else, help and mistakes above all, is the library's (`verbs`), which says what is wrong. The
library takes longer to import than many a command takes.
"""

import re
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from repositories.console.failures import CommandError
from repositories.console.options import Argument, Option, OutputOptions, RepositoryOptions

SUBSET: Final = "-subset"
"""`--x-subset=10%` may be written `--x=10%`: that is not plain."""
_NAMES: Final = ("NAME", "ID", "ID|all", "TAG")
_NUMBER: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_TEXTS: Final = (str, str | None)
_SEVERAL: Final = tuple[str, ...]
_Options = TypeVar("_Options", bound=OutputOptions)


class _NotPlainError(Exception):
    """The library has to look at these words."""


def read_plainly(kind: type[_Options], words: Sequence[str]) -> _Options | None:
    """Return the options that `words` give, or None where they are not plain.

    Raises CommandError for an empty name of a thing, as the library's way does.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    try:
        values = _Reading(hints).read(words)
    except _NotPlainError:
        return None
    if issubclass(kind, RepositoryOptions):
        refuse_empty_names(values, hints)
    return kind(**{name: frozen(value) for name, value in values.items()})


def refuse_empty_names(values: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    """Refuse an empty name or id: it comes from a variable that is not set, and would else mean something."""
    for name, value in values.items():
        mark = typing.get_args(hints[name])[1]
        if mark.metavar in _NAMES and "" in (value if isinstance(value, list) else (value,)):
            # The library's own marks hold their first name as a default.
            written = mark.names[0] if isinstance(mark, Option) else mark.default
            raise CommandError(f"{written} is empty", hint="leave it out, or give a name")


def frozen(value: Any) -> Any:
    """Return a value as options hold it: what is repeatable as a tuple."""
    return tuple(value) if isinstance(value, list) else value


class _Reading:
    """One command line on the way from words to values, by the names of fields."""

    def __init__(self, hints: Mapping[str, Any]) -> None:
        self._fields: dict[str, tuple[str, Any, Option]] = {}
        self._words: str | None = None
        self._values: dict[str, Any] = {}
        for name, hint in hints.items():
            kind, mark = typing.get_args(hint)
            if isinstance(mark, Argument):
                self._words = name
            else:
                self._fields.update(dict.fromkeys(mark.names, (name, kind, mark)))

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the values that were given. Raises _NotPlainError."""
        waiting = iter(words)
        loose: list[str] = []
        for word in waiting:
            if word == "--":
                loose.extend(waiting)
            elif len(word) > 1 and word.startswith("-"):
                self._take(word, waiting)
            else:
                loose.append(word)
        if loose:
            if self._words is None:
                raise _NotPlainError
            self._values[self._words] = loose
        return self._values

    def _take(self, word: str, waiting: typing.Iterator[str]) -> None:
        written, equals, value = word.partition("=")
        if written not in self._fields or (equals and not written.startswith("--")):
            raise _NotPlainError
        field, kind, mark = self._fields[written]
        if kind is bool:
            if equals:
                raise _NotPlainError
            self._values[field] = True
            return
        if not equals:
            # Without one, or where the next option seems to have been taken for it, the library says so.
            value = next(waiting, "-")
            if value.startswith("-"):
                raise _NotPlainError
        if kind == _SEVERAL:
            self._values.setdefault(field, []).append(value)
        elif field in self._values:
            raise _NotPlainError
        else:
            self._values[field] = _one(kind, mark, value)


def _one(kind: Any, mark: Option, value: str) -> Any:
    if kind in _TEXTS:
        return value
    if kind is not int or not _NUMBER.fullmatch(value):
        raise _NotPlainError
    number = int(value)
    if (mark.min is not None and number < mark.min) or (mark.max is not None and number > mark.max):
        raise _NotPlainError
    return number
