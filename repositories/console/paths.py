"""Paths and lists as people type them, as the values that the engine works with. Owns the conversion alone."""

import os
from collections.abc import Iterable, Iterator

from msgspec import Struct

from repositories.console.failures import CommandError, FileUnreadableError
from repositories.engine.display import show_bytes, show_text

MAX_FILE = 8 * 1024 * 1024
_SHOWN = 80


def absolute(path: str, what: str) -> bytes:
    """Return a path of this machine as absolute bytes; a link at its end is not followed.

    `what` says in errors which path it is. An empty one is refused: it is an unset variable, and must not mean the
    working directory.
    """
    if not path:
        raise CommandError(f"{what} is empty", hint="give a path; . is the working directory")
    try:
        # The library keeps two leading slashes, which mean nothing else than one here.
        return os.path.abspath(os.fsencode(path)).replace(b"//", b"/", 1)
    except FileNotFoundError:
        raise CommandError(
            f"{what} {show_text(path)} is relative, but the working directory has been removed",
            hint="change into a directory that exists, or give an absolute path",
        ) from None


class GivenRule(Struct, frozen=True):
    """An exclude rule and where it was given: on the command line, or in a line (from 1 on) of a file."""

    text: str
    file: str | None = None
    line: int | None = None

    @property
    def origin(self) -> str:
        """Where it was given, in words."""
        return "--exclude" if self.file is None else f"{show_text(self.file)} line {self.line}"


def exclude_rules(given: tuple[str, ...], files: tuple[str, ...]) -> tuple[GivenRule, ...]:
    """Return the rules of --exclude-file (one a line, without comments) and then those of --exclude.

    The last rule that matches decides, so that the command line has the last word. Raises CommandError for a rule that
    can match nothing, naming its place.
    """
    rules = [rule for name in files for rule in _rules_of(name)]
    rules += [GivenRule(_utf8(rule)) for rule in given]
    for rule in rules:
        _check(rule)
    return tuple(rules)


def misplaced(rules: Iterable[GivenRule], roots: Iterable[bytes]) -> Iterator[str]:
    """Yield a sentence for each rule that names a source's own path, which lies nowhere below that source."""
    sources = [os.fsdecode(root) for root in roots if root != b"/"]
    for rule in rules:
        body = rule.text.removeprefix("!")
        for root in sources:
            if body.startswith(root + "/") and not os.path.lexists(root + body):
                yield (
                    f"the exclude rule {show_text(rule.text)} ({rule.origin}) finds nothing in {show_text(root)}: "
                    f"a slash at its start is the root of the source; write {show_text(body[len(root) :])}"
                )


def _rules_of(name: str) -> Iterator[GivenRule]:
    for number, line in enumerate(_text_of(name).split("\n"), start=1):
        text = line.removesuffix("\r")
        if text.strip(" ") and not text.startswith("#"):
            yield GivenRule(text, name, number)


def _text_of(name: str) -> str:
    try:
        with open(name, "rb") as file:
            data = file.read(MAX_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise FileUnreadableError(
            f"the exclude file {show_text(name)} cannot be read: {reason}", hint="check --exclude-file"
        ) from error
    if len(data) > MAX_FILE:
        raise FileUnreadableError(
            f"the exclude file {show_text(name)} is larger than {show_bytes(MAX_FILE)}",
            hint="is it the right file? wildcards keep a list of rules short",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileUnreadableError(
            f"the exclude file {show_text(name)} is not UTF-8", hint="write other bytes with a wildcard"
        ) from None


def _check(rule: GivenRule) -> None:
    # Many commands have none.
    from repositories.engine.source.malformed import MalformedRuleError
    from repositories.engine.source.patterns import parse

    try:
        parse(rule.text)
    except MalformedRuleError as error:
        shown = rule.text if len(rule.text) <= _SHOWN else rule.text[:_SHOWN] + "…"
        raise CommandError(
            f"the exclude rule {show_text(shown)} ({rule.origin}) can match nothing: {error}",
            hint="correct it or leave it out; docs/excludes.md tells how rules are written",
        ) from None


def _utf8(rule: str) -> str:
    try:
        rule.encode("utf-8")
    except UnicodeEncodeError:
        raise CommandError(
            f"the exclude rule {show_text(rule)} is not UTF-8", hint="write other bytes with a wildcard"
        ) from None
    return rule
