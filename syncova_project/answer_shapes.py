"""The forms of answers as JSON Schema: which fields there are, what they hold, and that there are no others.

Owns the words that forms are built of, and the register from which the API's description takes those that have a
name. An app says with them what its own answers hold.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

Form = dict[str, Any]
COMPONENTS: Final[dict[str, Form]] = {}

TEXT: Final[Form] = {"type": "string"}
NUMBER: Final[Form] = {"type": "integer"}
FLAG: Final[Form] = {"type": "boolean"}
ID: Final[Form] = {"type": "string", "format": "uuid"}
INSTANT: Final[Form] = {"type": "string", "format": "date-time"}
# What another program or an earlier version wrote: its fields are not this API's.
OPEN: Final[Form] = {"type": "object", "additionalProperties": True}


def or_null(form: Form) -> Form:
    """Return the form of a field that may be null."""
    if "type" not in form:
        return {"anyOf": [form, {"type": "null"}]}
    words = {"enum": [*form["enum"], None]} if "enum" in form else {}
    return form | {"type": [form["type"], "null"]} | words


def one_of(words: Iterable[object]) -> Form:
    """Return the form of a field with a closed set of words."""
    return {"type": "string", "enum": [str(word) for word in words]}


def many(form: Form) -> Form:
    """Return the form of a list."""
    return {"type": "array", "items": form}


def thing(fields: Mapping[str, Form], *, optional: Mapping[str, Form] | None = None) -> Form:
    """Return the form of an object: all of `fields`, some of `optional`, nothing else."""
    return {
        "type": "object",
        "properties": {**fields, **(optional or {})},
        "required": list(fields),
        "additionalProperties": False,
    }


def named(name: str, form: Form, description: str = "", example: Mapping[str, Any] | None = None) -> Form:
    """Keep a form under a name of its own, and return the reference to it."""
    told = {"description": description} if description else {}
    shown = {"examples": [dict(example)]} if example is not None else {}
    COMPONENTS[name] = told | form | shown
    return {"$ref": f"#/components/schemas/{name}"}


def page(name: str, form: Form, more: Mapping[str, Form] | None = None) -> Form:
    """Return the form of a page: its rows under `name`, and the cursor of the next one, null at the end."""
    return thing({name: many(form), **(more or {}), "next_cursor": or_null(TEXT)})


def listed(name: str, form: Form) -> Form:
    """Return the form of a list that has no pages."""
    return thing({name: many(form)})
