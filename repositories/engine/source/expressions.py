"""From the parts of an exclude rule to an expression that matches in linear time.

Wildcards within one component are translated by the pattern library. Owns how components follow each other, and that
no name or path can make matching slow.
"""

import re

from repositories.engine.source.brackets import FILLER, NO_SLASH
from repositories.engine.source.malformed import MalformedRuleError
from repositories.engine.source.patterns import ANY_DEPTH, Pattern

_STAR = "[^/]*"
_COMPONENTS = "(?:[^/]++/)"


def expression(pattern: Pattern, *, ignoring_case: bool) -> re.Pattern[str]:
    """Return what finds a match in the name (of an anchored rule: in the path), used with `match`.

    Time grows with the length of what is matched times that of the rule, never with a power of it.
    """
    blocks: list[list[str]] = [[]]
    for component in pattern.components:
        if pattern.anchored and ANY_DEPTH.match(component):
            blocks.append([])
        else:
            blocks[-1].append(_translate(component))
    return re.compile(_joined(blocks), re.IGNORECASE if ignoring_case else 0)


def _joined(blocks: list[list[str]]) -> str:
    """Return one expression for blocks of components that any number of directories may part.

    A block may take the first place where it fits and never needs another: only the last one is bound to the end.
    """
    first, *rest = map("/".join, blocks)
    if not rest:
        return rf"{first}\Z"
    parts = [f"{first}/"] if first else []
    parts += [f"(?>{_COMPONENTS}*?{block}/)" for block in rest[:-1] if block]
    if rest[-1]:
        parts.append(rf"{_COMPONENTS}*{rest[-1]}\Z")
    return "".join(parts)


def _translate(component: str) -> str:
    # Most backups have no such rule, and the library takes as long to import as a tenth of an unlock.
    from pathspec.patterns.gitignore.base import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    try:
        # With `/**` behind it, the library keeps spaces at the end of a component.
        regex, _ = GitIgnoreSpecPattern.pattern_to_regex(f"/{component}/**")
    except GitIgnorePatternError as error:
        raise MalformedRuleError("it ends with a backslash") from error
    if regex is None or not (regex.startswith("^") and regex.endswith("/")):
        raise MalformedRuleError("the pattern library does not take it")
    return _without_backtracking(regex[1:-1]).replace(NO_SLASH, "/").replace(FILLER, r"\x00")


def _without_backtracking(regex: str) -> str:
    """Return an expression that matches the same in linear time where a component has several wildcards.

    A star that a literal follows may take the first place where the literal is and never needs another: only what
    follows the last star is bound to the component's end. Without this, `*a*a*a*a*b` takes minutes for one long name.
    """
    if regex == "[^/]+":
        return "[^/]++"
    first, *rest = regex.split(_STAR)
    parts = [first, *(f"(?>{_STAR}?{literal})" for literal in rest[:-1] if literal)]
    if rest:
        parts.append(f"{_STAR}{rest[-1]}")
    return "".join(parts)
