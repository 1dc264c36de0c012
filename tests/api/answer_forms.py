"""Answers held against the forms that their views tell: what the API's description says of them is true (7.13).

Each test that asks the API checks it, since the client does; a view that tells no form of its answers is let pass.
"""

import json
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.urls import Resolver404, resolve
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from syncova_project.answer_shapes import COMPONENTS


@cache
def validator(form: str) -> Draft202012Validator:
    return Draft202012Validator({"components": {"schemas": COMPONENTS}, **json.loads(form)})


def hold(method: str, address: str, status: int, content: Any) -> None:
    """Fail where an answer is not of its form, naming the place and what is wrong with it."""
    try:
        view = getattr(resolve(urlsplit(address).path).func, "view_class", None)
    except Resolver404:
        return
    pending = getattr(view, "pending", {}).get(method) if status == 202 else None
    form = pending or getattr(view, "answers", {}).get(method)
    if form is None or status >= 300:
        return
    assert pending or status == view.statuses.get(method, 200), (method, address)  # type: ignore[union-attr]
    wrong = [f"{error.json_path}: {error.message}" for error in validator(json.dumps(form)).iter_errors(content)]
    assert not wrong, (method, address, wrong[:5])
