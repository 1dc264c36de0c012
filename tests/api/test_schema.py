"""The OpenAPI description: valid, complete, and free of warnings, since it is made from what the views read."""

import inspect
from typing import Any

import pytest
from django.core import checks
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.validation import validate_schema

from syncova_project.rest import ApiView

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    from drf_spectacular.generators import SchemaGenerator

    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return found


def api_views(patterns: Any, prefix: str = "/") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for pattern in patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            found += api_views(pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern) and issubclass(getattr(pattern.callback, "view_class", int), ApiView):
            view: Any = pattern.callback
            found.append((address.replace("<uuid:", "{").replace("<str:", "{").replace(">", "}"), view.view_class))
    return found


def test_it_is_served_and_valid(described: dict[str, Any]) -> None:
    response = Client().get("/api/v1/schema")
    assert (response.status_code, response.json()["openapi"]) == (200, "3.1.0")
    validate_schema(described)


def test_every_view_and_method_is_in_it_with_its_rights(described: dict[str, Any]) -> None:
    views = api_views(get_resolver().url_patterns)
    assert len(views) >= 16
    for address, view in views:
        operations = described["paths"][address]
        assert {method.upper() for method in operations} == set(view.scopes)
        for method, scopes in view.scopes.items():
            operation = operations[method.lower()]
            assert all(scope in operation["description"] for scope in scopes)
            pending = {"202"} if method in view.pending else set()
            part = {"206"} if method in view.ranges else set()
            had = {"304"} if method in view.tagged else set()
            done = {str(view.statuses.get(method, 200)), *pending, *part, *had}
            assert set(operation["responses"]) == {*done, *refused(address, method, view)}
            assert operation["security"] == [{"token": []}, {"session": []}]
            assert ("requestBody" in operation) == (method in view.bodies and bool(view.bodies[method]().fields))
            told = {parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"}
            assert told == set(view.queries[method]().fields if method in view.queries else ())


def refused(address: str, method: str, view: Any) -> set[str]:
    """Return the statuses of what can be refused, and "default" for what nobody thought of."""
    found = {"400", "401", "403", "429", "503", "default"}
    found |= {"404"} if "{" in address else set()
    found |= {"409"} if method != "GET" else set()
    found |= {"413", "415"} if method in view.bodies else set()
    return found | ({"412"} | ({"428"} if view.conditions[method] else set()) if method in view.conditions else set())


def test_whatever_takes_a_key_says_so(described: dict[str, Any]) -> None:
    """The header stands where a view creates once for a key, and nowhere else."""
    keyed = set()
    for address, view in api_views(get_resolver().url_patterns):
        for method, operation in described["paths"][address].items():
            handler = inspect.getsource(getattr(view, method))
            told = [one for one in operation.get("parameters", ()) if one["name"] == "Idempotency-Key"]
            assert bool(told) == ("create_once(" in handler) == (method.upper() in view.keyed), (address, method)
            assert all("24 hours" in one["description"] for one in told)
            keyed |= {address} if told else set()
    assert {"/api/v1/jobs", "/api/v1/jobs/{job_id}/run", "/api/v1/repositories", "/api/v1/tokens"} <= keyed


def test_every_post_reads_a_body_and_every_list_its_filters() -> None:
    for _, view in api_views(get_resolver().url_patterns):
        assert "POST" not in view.scopes or "POST" in view.bodies


def test_bandwidth_says_its_unit(described: dict[str, Any]) -> None:
    """Execution.md, section 6: the field is bytes per second, whatever its name suggests."""
    fields = described["components"]["schemas"]["JobInput"]["properties"]
    assert fields["bandwidth_limit_bps"]["description"] == "Bytes per second."


def test_it_is_made_without_a_warning() -> None:
    told = checks.run_checks(include_deployment_checks=True)
    assert [message for message in told if str(message.id).startswith("drf_spectacular")] == []
