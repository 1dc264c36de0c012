"""Which JSON type a field of a body takes: a number in place of a text is the client's mistake, never converted.

Owns the comparison. Bounds, forms and words are the fields' own.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rest_framework import serializers

_BOOLEAN: Final = "Must be true or false."
# The first class that fits decides. A boolean is no number, though Python takes it for one.
_TYPES: Final[tuple[tuple[tuple[type[Any], ...], tuple[type, ...], str], ...]] = (
    ((serializers.BooleanField,), (bool,), _BOOLEAN),
    ((serializers.IntegerField,), (int,), "Must be a whole number."),
    ((serializers.FloatField,), (int, float), "Must be a number."),
    ((serializers.CharField, serializers.UUIDField, serializers.DateTimeField), (str,), "Must be text."),
)


def wrong_types(fields: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what is wrong with the values of another type than their fields', by name; `null` is the fields' own."""
    found: dict[str, list[str]] = {}
    for name, field in fields.items():
        if name in data:
            found.update(_wrong(name, field, data[name]))
    return found


def _wrong(name: str, field: Any, value: Any) -> Iterator[tuple[str, list[str]]]:
    if value is None:
        return
    if isinstance(field, serializers.ListField):
        if isinstance(value, list) and len(value) <= (field.max_length or 0):
            for position, one in enumerate(value):
                yield from _wrong(f"{name}.{position}", field.child, one)
        return
    for kinds, types, sentence in _TYPES:
        if isinstance(field, kinds):
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                yield name, [sentence]
            return
