"""Every code that an answer of the API can have, with its status and its meaning (E8, 7.12).

Owns the gathering alone: the codes are those of the error classes and of error_shape's table.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from syncova_project.error_shape import own_answers
from syncova_project.errors import SyncovaError


@dataclass(frozen=True, slots=True, order=True)
class KnownCode:
    """A stable code; `meaning` is what its class or its answer says of it."""

    code: str
    status: int
    meaning: str


def known_codes() -> dict[str, KnownCode]:
    """Return the codes by name, of the errors whose modules are loaded: where the API is served, these are all."""
    found: dict[str, KnownCode] = {}
    for one in own_answers():
        found.setdefault(one.code, KnownCode(one.code, one.status, one.message))
    for each in _classes(SyncovaError):
        if each.code not in found or "code" in vars(each):
            meaning = " ".join((each.__doc__ or "").split("\n\n")[0].split())
            found[each.code] = KnownCode(each.code, each.status, meaning)
    return dict(sorted(found.items()))


def _classes(base: type[SyncovaError]) -> Iterator[type[SyncovaError]]:
    yield base
    for each in base.__subclasses__():
        yield from _classes(each)
