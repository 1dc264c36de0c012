"""Every operation of the API on the live server, asked by schemathesis what its description allows and forbids (7.13).

Seeded: each run asks the same. tests/long/api_fuzz.py asks more, by hand.
"""

import json
from typing import Any

import pytest

from syncova_project.api_page import description
from tests.api.fuzzing import ask_all
from tests.api.scene import make_scene

pytestmark = pytest.mark.django_db(transaction=True)


def test_no_answer_is_5xx_and_all_are_as_described(live_server: object, settings: Any) -> None:
    settings.SYNCOVA_TOKEN_RATE = settings.SYNCOVA_ADDRESS_RATE = 0
    asked = ask_all(str(live_server), make_scene(), examples=1)
    assert asked.operations >= 50
    assert asked.statuses.keys() >= {"200", "400", "404"}
    assert asked.wrong == []


def test_what_is_not_as_described_is_found(live_server: Any, monkeypatch: Any) -> None:
    """The harness itself: a form that has a field less than the answer, and an error of the server."""
    form = {"type": "object", "properties": {"repositories": {"type": "array"}, "more": {}}, "required": ["more"]}
    described = json.loads(json.dumps(description()))
    described["paths"] = {"/api/v1/repositories": {"get": described["paths"]["/api/v1/repositories"]["get"]}}
    content = described["paths"]["/api/v1/repositories"]["get"]["responses"]["200"]["content"]
    content["application/json"]["schema"] = form
    monkeypatch.setattr("tests.api.fuzzing.description", lambda: described)
    (found, *_) = ask_all(str(live_server), make_scene(), examples=1).wrong
    assert "'more' is a required property" in found.replace('"', "'")
