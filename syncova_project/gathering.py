"""Reading a body with everything that is wrong with it at once, each by its place: `sources.2.exclude_patterns.0`.

Owns the walk down to the entries of lists. What has the right form is returned, so that it can be judged further; rules
are the serializers' own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rest_framework import serializers

from syncova_project.error_shape import flat_details
from syncova_project.errors import ValidationFailedError
from syncova_project.json_types import wrong_types

_REFUSED: Final = object()


@dataclass(slots=True)
class Gathered:
    """The values that have the right form, the sentences of all others, and where entries of short lists stood."""

    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)

    def place(self, name: str) -> str:
        """Return the name that the body has for what `values` have as `name`: refused entries are left out there."""
        parts: list[str] = []
        for part in name.split("."):
            stood = self.places.get(".".join(parts))
            parts.append(str(stood[int(part)]) if stood is not None and part.isdigit() else part)
        return ".".join(parts)

    def note(self, name: str, sentences: Sequence[str]) -> None:
        """Add sentences about what the body has as `name`."""
        self.errors.setdefault(name, []).extend(sentences)


def gather(reader: serializers.Serializer[Any], data: object) -> Gathered:
    """Return what a body holds; rules over several of its fields are left to the caller.

    Raises rest_framework's ValidationError where it is no object.
    """
    found = Gathered()
    if not isinstance(data, Mapping):
        reader.run_validation(data)
        return found
    found.values, _ = _fields(found, reader, data, "")
    return found


def _fields(
    found: Gathered, reader: serializers.Serializer[Any], data: Mapping[Any, Any], prefix: str
) -> tuple[dict[str, Any], set[str]]:
    """Return the values of an object, and the names of its fields that are refused, if only in part."""
    for name in sorted({str(name) for name in data} - set(reader.fields)):
        found.note(prefix + name, ["There is no such field."])
    values, refused = dict[str, Any](), set[str]()
    for name, form in reader.fields.items():
        known = len(found.errors)
        value = _value(found, form, form.get_value(data), prefix + name)
        if value is not _REFUSED:
            values[name] = value
        if len(found.errors) > known:
            refused.add(name)
    return values, refused


def _value(found: Gathered, form: Any, raw: Any, name: str) -> Any:
    if isinstance(form, serializers.ListField) and isinstance(raw, list) and 0 < len(raw) <= (form.max_length or 0):
        return _entries(found, form.child, raw, name)
    wrong = wrong_types({name: form}, {name: raw}) if raw is not serializers.empty else {}
    if wrong:
        found.errors.update(wrong)
        return _REFUSED
    return _run(found, name, form.run_validation, raw)


def _entries(found: Gathered, child: Any, raw: Sequence[Any], name: str) -> list[Any]:
    read = _entry if isinstance(child, serializers.Serializer) else _value
    values = [read(found, child, one, f"{name}.{position}") for position, one in enumerate(raw)]
    places = [position for position, value in enumerate(values) if value is not _REFUSED]
    if len(places) < len(values):
        found.places[name] = places
    return [values[position] for position in places]


def _entry(found: Gathered, reader: Any, raw: Any, name: str) -> Any:
    """Return one object of a list, or what of it can be judged further; _REFUSED where nothing can."""
    if not isinstance(raw, Mapping):
        return _run(found, name, reader.run_validation, raw)
    values, refused = _fields(found, reader, raw, f"{name}.")
    for field_name in [one for one in values if hasattr(reader, f"validate_{one}")]:
        value = _run(found, f"{name}.{field_name}", getattr(reader, f"validate_{field_name}"), values[field_name])
        if value is _REFUSED:
            del values[field_name]
            refused.add(field_name)
    whole = _REFUSED
    if refused <= set(reader.stand_ins):
        stand_ins = {one: value for one, value in reader.stand_ins.items() if one in refused}
        whole = _run(found, name, reader.validate, {**stand_ins, **values})
    if whole is not _REFUSED:
        return whole
    rest = reader.judged_in_part(values)
    return _REFUSED if rest is None else rest


def _run(found: Gathered, name: str, check: Any, raw: Any) -> Any:
    try:
        return check(raw)
    except serializers.SkipField:
        return _REFUSED
    except serializers.ValidationError as error:
        found.errors.update(flat_details(error.detail, name))
    except ValidationFailedError as error:
        found.note(name, [error.message])
    return _REFUSED
