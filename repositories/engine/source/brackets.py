"""Bracket expressions of exclude rules, as git reads them, in a form that the pattern library takes unchanged.

Owns character classes, ranges and escapes within brackets, which the library does not know. A set never holds `/`.
"""

from repositories.engine.source.malformed import MalformedRuleError

# fmt: off
_CLASSES = {
    "alnum": "09AZaz", "alpha": "AZaz", "blank": "\t\t  ", "cntrl": "\x01\x1f\x7f\x7f", "digit": "09", "graph": "!~",
    "lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "\t\r  ", "upper": "AZ", "xdigit": "09AFaf",
}
# fmt: on
_DELICATE = "[!^&~|\\"
"""What means something at some place of a set, to the library or to an expression: written where it does not."""

FILLER = "\0"
"""Never part of a name: keeps delicate characters from the first place of a set."""
NO_SLASH = FILLER * 2
"""Stands where `/` must stand: only in sets of what does not match."""

_Ranges = list[tuple[int, int]]


def normalise(text: str) -> str:
    """Return `text` with each bracket expression rewritten; raises MalformedRuleError for one that matches nothing."""
    parts: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            parts.append(text[position : position + 2])
            position += 2
        elif character == "[":
            written, position = _Expression(text, position + 1).read()
            parts.append(written)
        else:
            parts.append(character)
            position += 1
    return "".join(parts)


class _Expression:
    """One expression, read from behind its `[`."""

    def __init__(self, text: str, position: int) -> None:
        self._text = text
        self._position = position
        self._ranges: _Ranges = []

    def read(self) -> tuple[str, int]:
        """Return it rewritten, and the place behind its `]`."""
        negated = self._peek() in ("!", "^")
        self._position += negated
        previous: int | None = None
        first = True
        while first or self._peek() != "]":
            first = False
            previous = self._item(previous)
        return _written(self._ranges, negated=negated), self._position + 1

    def _item(self, previous: int | None) -> int | None:
        """Take one character, range or class; return what a range could begin with."""
        character = self._peek()
        if character == "-" and previous is not None and self._text[self._position + 1 : self._position + 2] != "]":
            self._position += 1
            self._ranges.append((previous, self._one()))
            return None
        if character == "[" and self._class():
            return None
        single = self._one()
        self._ranges.append((single, single))
        return single

    def _one(self) -> int:
        if self._peek() == "\\":
            self._position += 1
        character = self._peek()
        self._position += 1
        return ord(character)

    def _class(self) -> bool:
        """Take a class like [:alpha:], if one stands here; an unknown name is malformed."""
        if self._text[self._position + 1 : self._position + 2] != ":":
            return False
        end = self._text.find("]", self._position + 2)
        if end < 0:
            raise MalformedRuleError("a [ is not closed")
        name = self._text[self._position + 2 : end - 1]
        if end < self._position + 3 or self._text[end - 1] != ":":
            return False
        if name not in _CLASSES:
            raise MalformedRuleError(f"there is no class [:{name}:]")
        bounds = _CLASSES[name]
        self._ranges += [(ord(bounds[at]), ord(bounds[at + 1])) for at in range(0, len(bounds), 2)]
        self._position = end + 1
        return True

    def _peek(self) -> str:
        if self._position >= len(self._text):
            raise MalformedRuleError("a [ is not closed")
        return self._text[self._position]


def _written(ranges: _Ranges, *, negated: bool) -> str:
    # A range that runs backwards holds nothing but its first character, which was taken as a single one.
    delicate = [character for character in f"]{_DELICATE}-/" if _holds(ranges, ord(character))]
    plain = _without(ranges, sorted(map(ord, f"]{_DELICATE}-/")))
    body = "".join(chr(low) if low == high else f"{chr(low)}-{chr(high)}" for low, high in plain)
    return "".join(
        (
            "[!" if negated else "[",
            "]" if "]" in delicate else "",
            NO_SLASH if negated else FILLER,
            body,
            *(character for character in _DELICATE if character in delicate),
            "-]" if "-" in delicate else "]",
        )
    )


def _holds(ranges: _Ranges, code: int) -> bool:
    return any(low <= code <= high for low, high in ranges)


def _without(ranges: _Ranges, taken_out: list[int]) -> _Ranges:
    left: _Ranges = []
    for low, high in sorted(set(ranges)):
        start = low
        for code in taken_out:
            if start <= code <= high:
                left.append((start, code - 1))
                start = code + 1
        left.append((start, high))
    return [(low, high) for low, high in left if low <= high]
