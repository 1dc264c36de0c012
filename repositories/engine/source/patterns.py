"""One exclude rule in its parts, as gitignore reads them.

Owns what a rule's text means, wildcards within one component excepted. Compiles nothing.
"""

import re

import msgspec

from repositories.engine.source.brackets import normalise
from repositories.engine.source.malformed import MalformedRuleError

MAX_RULE = 4096
"""Characters of one rule: as long as a path that a program may name."""

ANY_DEPTH = re.compile(r"\*\*+\Z")
"""A component that stands for any number of directories."""

_SPECIAL = frozenset("*?[")


class Pattern(msgspec.Struct, frozen=True):
    """A rule in parts. With `anchored` it is about the path from the source's root on, else about the name alone.

    `literal` is that path or name if there is no wildcard in it; `suffix` what follows a star that is the only one.
    """

    excludes: bool
    directories_only: bool
    anchored: bool
    components: tuple[str, ...]
    literal: str | None
    suffix: str | None


def parse(text: str) -> Pattern | None:
    """Return the parts of a rule; None for a comment and an empty line. Raises MalformedRuleError."""
    if len(text) > MAX_RULE:
        raise MalformedRuleError(f"it is longer than {MAX_RULE:,} characters")
    if "\0" in text or "\n" in text:
        raise MalformedRuleError("it holds a line break or NUL")
    if text.startswith("#"):
        return None
    text = _without_trailing_spaces(text)
    if not text:
        return None
    excludes = not text.startswith("!")
    body = text.removeprefix("!")
    directories_only = body.endswith("/")
    body = body.removesuffix("/")
    anchored = "/" in body
    components = _components(body.removeprefix("/"))
    if not anchored and ANY_DEPTH.match(components[0]):
        # Without a slash, any number of stars is one.
        components = ("*",)
    plain = [_literal(component) for component in components]
    literal = "/".join(part for part in plain if part is not None) if None not in plain else None
    suffix = (
        _literal(components[0].lstrip("*")) if literal is None and not anchored and components[0][0] == "*" else None
    )
    return Pattern(excludes, directories_only, anchored, components, literal, suffix)


def _components(body: str) -> tuple[str, ...]:
    if not body:
        raise MalformedRuleError("nothing follows ! or /")
    # A slash after a backslash is a slash.
    components = tuple(_unescaped_slashes(normalise(body)).split("/"))
    if "" in components:
        raise MalformedRuleError("two slashes follow each other")
    if "." in components or ".." in components:
        raise MalformedRuleError("no name is . or ..; write the path from the source's root on")
    for component in components:
        _literal(component)
    return components


def _unescaped_slashes(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "/" if found[1] == "/" else found[0], text, flags=re.DOTALL)


def _literal(component: str) -> str | None:
    """Return the name that a component without wildcards stands for, else None."""
    letters: list[str] = []
    characters = iter(component)
    wild = False
    for character in characters:
        if character == "\\":
            escaped = next(characters, None)
            if escaped is None:
                raise MalformedRuleError("it ends with a backslash")
            letters.append(escaped)
        else:
            wild = wild or character in _SPECIAL
            letters.append(character)
    return None if wild else "".join(letters)


def _without_trailing_spaces(text: str) -> str:
    """Return a rule without the spaces at its end; one after a backslash belongs to it."""
    bare = text.rstrip(" ")
    if len(bare) == len(text):
        return text
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 else bare
