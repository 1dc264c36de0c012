"""The API described: examples that are taken, every error code, and a page that loads from nowhere else (7.7)."""

import re
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from jobs.serializers import JobInput
from syncova_project.answer_shapes import COMPONENTS
from syncova_project.api_page import description
from tests.api.client import ApiClient
from tests.api.test_fuzzed_bodies import ASKED
from tests.architecture.error_codes import collect

pytestmark = pytest.mark.django_db
# Of those with a status for requests, these belong to the admin's login and to workers.
ELSEWHERE = {"LOGIN_LOCKED", "REINDEX_FAILED"}
CODES = {code for code, one in collect().items() if one.status.startswith("4")} - ELSEWHERE


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, told)
        for path, methods in description()["paths"].items()
        for method, told in methods.items()
    ]


def test_every_body_has_an_example_that_is_taken() -> None:
    """One that its own reader takes, field by field; bodies without fields need none."""
    shown = {
        (method, path): [
            one["value"] for one in told["requestBody"]["content"]["application/json"].get("examples", {}).values()
        ]
        for method, path, told in operations()
        if "requestBody" in told
    }
    for method, address, reader in ASKED:
        path = re.sub(r"<\w+:(\w+)>", r"{\1}", address)
        if not reader().fields:
            continue
        (example,) = shown[method, path]
        read = reader(data=example)
        assert read.is_valid(), (path, read.errors)


def test_the_example_of_a_job_names_every_field_that_the_source_has() -> None:
    (example,) = [
        one["value"]
        for method, path, told in operations()
        if (method, path) == ("POST", "/api/v1/jobs")
        for one in told["requestBody"]["content"]["application/json"]["examples"].values()
    ]
    assert set(example) >= {"name", "priority", "schedule", "sources", "repository_id", "bandwidth_limit_bps"}
    assert set(example["sources"][0]) == {"type", "id", "exclude_patterns"}
    assert set(example) <= set(JobInput().fields)


def test_every_error_code_is_in_it() -> None:
    """7.12: each code that a request can be refused with, as docs/errors.md has it."""
    code = description()["components"]["schemas"]["ErrorDescription"]["properties"]["code"]
    assert set(code["enum"]) >= CODES | {"INTERNAL", "UNAVAILABLE", "THROTTLED", "REQUEST_TOO_LARGE"}
    assert all(f"`{each}`" in code["description"] for each in code["enum"])


def test_forms_of_answers_are_closed_and_named() -> None:
    forms = description()["components"]["schemas"]
    assert (
        {"Job", "Run", "RunPage", "QueuedRun", "Repository", "Window", "Held", "Failure"}
        <= set(COMPONENTS)
        <= set(forms)
    )
    for name in COMPONENTS:
        assert forms[name]["additionalProperties"] is False, name


def test_the_page_shows_every_address_form_and_code() -> None:
    answer = Client().get("/api/v1/docs")
    text = answer.content.decode()
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    for method, path, told in operations():
        assert f'<details id="{told["operationId"]}">' in text
        assert f"{method}</b> <code>{path}</code>" in text
    assert all(f'id="{code}"' in text for code in CODES)
    targets = set(re.findall(r'id="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= targets


def test_the_page_runs_no_script_and_asks_no_other_host() -> None:
    answer = Client().get("/api/v1/docs")
    text = answer.content.decode()
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "unsafe-inline" not in answer.headers["Content-Security-Policy"]
    assert re.findall(r"<script|<style|\sstyle=|\son\w+=|https?://", text) == []
    loaded = re.findall(r'<link rel="stylesheet" href="/static/([^"]+)"', text)
    assert loaded == ["api/page.css"]
    assert finders.find("api/page.css")


def test_it_is_made_once_and_only_read(django_assert_num_queries: Any) -> None:
    description()
    with django_assert_num_queries(0):
        assert Client().get("/api/v1/schema").json() == description()
        Client().get("/api/v1/docs")
    for address in ("/api/v1/schema", "/api/v1/docs"):
        ApiClient(token="").request("POST", address, {}).refused(405, "METHOD_NOT_ALLOWED")
