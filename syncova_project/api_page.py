"""The API's description as it is served: as OpenAPI JSON, and as a page for people that needs no script.

Owns both answers. They are made once in a process, since they change with the program alone; the page loads its style
sheet from this server and nothing else.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from syncova_project.error_codes import known_codes
from syncova_project.rest import safe_only

_REFERENCE: Final = "#/components/schemas/"
_WORDS: Final[Mapping[str, str]] = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "null": "null",
}
_FORMATS: Final[Mapping[str, str]] = {"uuid": "id", "date-time": "instant (ISO 8601)"}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form, or a parameter: what it holds, in words; `link` names the form that it refers to."""

    name: str
    words: str
    link: str
    needed: bool
    description: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One method at one address."""

    method: str
    path: str
    anchor: str
    tag: str
    description: tuple[str, ...]
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    example: str
    status: str
    answer: tuple[Field, ...]


@cache
def description() -> Mapping[str, Any]:
    """Return the OpenAPI description of every address below /api/v1/."""
    from drf_spectacular.generators import SchemaGenerator

    made: Mapping[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made


@safe_only
def schema(request: HttpRequest) -> HttpResponse:
    """Answer with the description as JSON."""
    return HttpResponse(_text(), content_type="application/json")


@safe_only
def page(request: HttpRequest) -> HttpResponse:
    """Answer with the description as a page."""
    return HttpResponse(_page())


@cache
def _text() -> bytes:
    return json.dumps(description(), ensure_ascii=False).encode()


@cache
def _page() -> str:
    forms = description()["components"]["schemas"]
    operations = sorted(_operations(), key=lambda one: (one.tag, one.path, one.method))
    told = {
        "tags": [(tag, list(some)) for tag, some in groupby(operations, key=lambda one: one.tag)],
        "forms": [(name, form.get("description", ""), tuple(_fields(form))) for name, form in sorted(forms.items())],
        "codes": known_codes().values(),
    }
    return render_to_string("api/page.html", told)


def _operations() -> Iterator[Operation]:
    for path, methods in description()["paths"].items():
        for method, told in methods.items():
            parameters = tuple(
                _field(
                    f"{one['name']} ({one['in']})", one["schema"], one.get("description", ""), needed="required" in one
                )
                for one in told.get("parameters", ())
            )
            (status, answer), *_ = told["responses"].items()
            body = _content(told.get("requestBody", {}))
            yield Operation(
                method=method.upper(),
                path=path,
                anchor=told["operationId"],
                tag=told["tags"][0],
                description=tuple(part for part in re.split(r"\n\s*\n", told["description"]) if part.strip()),
                parameters=parameters,
                body=tuple(_fields(_resolved(body.get("schema", {})))),
                example=_example(body),
                status=status,
                answer=tuple(_fields(_resolved(_content(answer).get("schema", {})))),
            )


def _content(message: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = message.get("content", {}).get("application/json", {})
    return found


def _example(body: Mapping[str, Any]) -> str:
    shown = [one["value"] for one in body.get("examples", {}).values()]
    return json.dumps(shown[0], indent=2, ensure_ascii=False) if shown else ""


def _resolved(form: Mapping[str, Any]) -> Mapping[str, Any]:
    name = _link(form)
    if "$ref" not in form or not name:
        return form
    found: Mapping[str, Any] = description()["components"]["schemas"][name]
    return found


def _fields(form: Mapping[str, Any]) -> Iterator[Field]:
    needed = form.get("required", ())
    for name, one in form.get("properties", {}).items():
        yield _field(name, one, one.get("description", ""), needed=name in needed)


def _field(name: str, form: Mapping[str, Any], told: str, *, needed: bool) -> Field:
    bounds = [f"{word} {form[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in form]
    default = [f"else {json.dumps(form['default'])}"] if "default" in form else []
    return Field(name, " ".join([_words(form), *bounds, *default]), _link(form), needed, told)


def _words(form: Mapping[str, Any]) -> str:
    """Return what a form holds in few words."""
    several = form.get("anyOf") or form.get("oneOf") or form.get("allOf")
    if several:
        return " or ".join(_words(one) for one in several)
    if "$ref" in form:
        return _link(form)
    if "enum" in form:
        return " or ".join("null" if word is None else str(word) for word in form["enum"])
    if "items" in form:
        return f"list of {_words(form['items'])}"
    kinds = form.get("type", "anything")
    known = [
        _FORMATS.get(form.get("format", ""), _WORDS.get(kind, kind)) if kind != "null" else kind
        for kind in _list(kinds)
    ]
    return " or ".join(known)


def _link(form: Mapping[str, Any]) -> str:
    """Return the name of the form that this one refers to, directly or within a list, "" for none."""
    inner = [form, form.get("items", {}), *form.get("anyOf", ()), *form.get("allOf", ()), *form.get("oneOf", ())]
    names = [one["$ref"].removeprefix(_REFERENCE) for one in inner if "$ref" in one]
    return names[0] if names else ""


def _list(kinds: str | list[str]) -> list[str]:
    return [kinds] if isinstance(kinds, str) else kinds
