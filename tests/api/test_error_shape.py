"""Every error has the one shape and a stable code, and none shows a stack trace (E8)."""

import json
from typing import Any

import psycopg2
import pytest
from django.db import DatabaseError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from syncova_project import urls
from syncova_project.access.scopes import Scope
from syncova_project.error_shape import flat_details
from syncova_project.errors import ConflictError, SyncovaError
from syncova_project.log import TextFormatter
from syncova_project.rest import ApiView
from tests.api.client import ApiClient

pytestmark = pytest.mark.django_db
CANARY = "CANARY-51f0"


class FailingView(ApiView):
    """Raises what the test put here."""

    scopes = {"GET": (Scope.JOBS_READ,)}
    error: Exception = RuntimeError()

    def get(self, request: Request) -> Response:
        raise FailingView.error


def failing_page(request: HttpRequest) -> HttpResponse:
    raise FailingView.error


handler400, handler403 = urls.handler400, urls.handler403
handler404, handler500 = urls.handler404, urls.handler500
urlpatterns = [*urls.urlpatterns, path("api/v1/fail", FailingView.as_view()), path("fail", failing_page)]


@pytest.mark.parametrize("address", ["/", "/api/v1/nothing", "/api/v2/jobs", "/api/v1/repositories/not-an-id"])
def test_an_unknown_address_is_404(address: str) -> None:
    error = ApiClient().get(address).refused(404, "NOT_FOUND")
    assert error["hint"] == "GET /api/v1/schema lists every address."


def test_the_address_that_a_404_names_exists() -> None:
    assert ApiClient().get("schema").status == 200


def test_another_host_is_refused() -> None:
    error = ApiClient().get("repositories", Host="evil.example.org").refused(400, "MALFORMED_REQUEST")
    assert "SYNCOVA_PUBLIC_URL" in error["hint"]


def test_no_token_is_401_with_a_challenge() -> None:
    answer = ApiClient(token="").get("repositories")
    answer.refused(401, "UNAUTHENTICATED")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "token", ["x", "syncova_aaaaaaaaaaaa_" + "0" * 64, "ü", "x" * 8000], ids=["short", "unknown", "umlaut", "long"]
)
def test_a_wrong_token_is_401(token: str) -> None:
    ApiClient(token=token).get("repositories").refused(401, "UNAUTHENTICATED")


def test_another_scheme_is_401() -> None:
    client = ApiClient()
    client.headers = {"Authorization": "Basic " + client.headers["Authorization"].partition(" ")[2]}
    error = client.get("repositories").refused(401, "UNAUTHENTICATED")
    assert (error["message"], "Bearer" in error["hint"]) == ("A token is needed.", True)


def test_a_missing_right_is_403_and_named() -> None:
    error = ApiClient("jobs.read").get("repositories").refused(403, "PERMISSION_DENIED")
    assert error["details"] == {"needs_any_of": ["repositories.read"]}


@pytest.mark.parametrize("address", ["/health/live", "/health/ready"])
def test_a_probe_takes_no_writes(address: str) -> None:
    answer = ApiClient(token="").request("POST", address, {})
    answer.refused(405, "METHOD_NOT_ALLOWED")
    assert answer.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("method", ["PUT", "OPTIONS"])
def test_a_method_that_is_not_taken_is_refused(method: str) -> None:
    answer = ApiClient().request(method, "repositories", {})
    assert "Allow" in answer.refused(405, "METHOD_NOT_ALLOWED")["hint"]
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST"}


@pytest.mark.parametrize(
    "body", ["{", '{"name": NaN}', b"\xff\xfe", "", "[[[[", "[" * 100_000, "9" * 5000], ids=lambda body: str(body)[:9]
)
def test_a_body_that_is_no_json_is_400(body: Any) -> None:
    answer = ApiClient().post("repositories", body)
    assert answer.status == 400
    assert answer.json["error"]["code"] in {"MALFORMED_REQUEST", "VALIDATION_FAILED"}
    assert answer.json["error"]["hint"]


@pytest.mark.parametrize("body", ['{"name": "a", "name": "b"}', '{"name": {"name": 1, "x": 2, "name": 3}}'])
def test_a_field_that_is_named_twice_is_refused(body: str) -> None:
    for address in ("repositories", "jobs", "jobs/preview", "jobs/validate", "windows"):
        error = ApiClient().post(address, body).refused(400, "VALIDATION_FAILED")
        assert error["details"] == {"name": ["Is named twice."]}


def test_what_a_client_sent_is_echoed_in_bounded_length_and_what_is_wrong_with_it_stands() -> None:
    """Whatever the field: a name of 100,000 letters is not sent back twice."""
    zone = "A" * 100_000
    answer = ApiClient().post("jobs/preview", {"schedule": {"type": "daily", "time": "02:00", "time_zone": zone}})
    (sentence,) = answer.refused(400, "VALIDATION_FAILED")["details"]["schedules.0.time_zone"]
    assert len(json.dumps(answer.json)) < 2000
    assert sentence.endswith("A' is not the name of a time zone, such as Europe/Berlin.")
    unknown = ApiClient().post("jobs/preview", {zone: 1})
    assert len(json.dumps(unknown.json)) < 2000


def test_a_word_that_is_none_of_the_choices_lists_them() -> None:
    (sentence,) = ApiClient().get("jobs?status=bogus").refused(400, "VALIDATION_FAILED")["details"]["status"]
    assert sentence == "Must be one of active, paused, not bogus."


@pytest.mark.parametrize("body", [[], "text", 7, None, True])
def test_a_body_that_is_no_object_is_400(body: Any) -> None:
    import json

    ApiClient().post("repositories", json.dumps(body)).refused(400, "VALIDATION_FAILED")


def test_unknown_and_missing_fields_are_named() -> None:
    error = ApiClient().post("repositories", {"nmae": "x"}).refused(400, "VALIDATION_FAILED")
    assert error["details"] == {"nmae": ["There is no such field."]}
    error = ApiClient().post("repositories", {}).refused(400, "VALIDATION_FAILED")
    assert set(error["details"]) == {"name", "location", "password"}


def test_an_unknown_query_parameter_is_named() -> None:
    error = ApiClient().get("repositories?serach=x").refused(400, "VALIDATION_FAILED")
    assert set(error["details"]) == {"serach"}


@pytest.mark.parametrize("query", ["search=%00", "search=" + "a" * 201])
def test_a_query_that_postgresql_would_refuse_is_400(query: str) -> None:
    ApiClient().get(f"repositories?{query}").refused(400, "VALIDATION_FAILED")


def test_a_body_that_is_too_large_is_413() -> None:
    ApiClient().post("repositories", {"name": "x" * 3_000_000}).refused(413, "REQUEST_TOO_LARGE")
    keyed = ApiClient().post("repositories", {"name": "x" * 3_000_000}, **{"Idempotency-Key": "k"})
    assert "2621440 bytes" in keyed.refused(413, "REQUEST_TOO_LARGE")["hint"]


def test_another_content_type_is_415() -> None:
    client = ApiClient()
    response = client.client.post("/api/v1/repositories", {"name": "x"}, headers=client.headers)
    assert (response.status_code, response.json()["error"]["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_another_accept_is_406() -> None:
    ApiClient().get("repositories", Accept="text/html").refused(406, "NOT_ACCEPTABLE")


@pytest.mark.urls(__name__)
@pytest.mark.parametrize("address", ["/api/v1/fail", "/fail"])
@pytest.mark.parametrize("debug", [False, True])
def test_an_unexpected_error_is_500_without_a_trace(address: str, settings: Any, caplog: Any, *, debug: bool) -> None:
    settings.DEBUG = debug and address.startswith("/api/")
    FailingView.error = RuntimeError(CANARY)
    answer = ApiClient().get(address, **{"X-Request-ID": "request-7"})
    error = answer.refused(500, "INTERNAL")
    assert CANARY not in str(answer.json)
    assert error["details"] == {"request_id": "request-7"}
    assert answer.headers["X-Request-ID"] == "request-7"
    assert any(CANARY in (record.exc_text or str(record.exc_info)) for record in caplog.records)


@pytest.mark.urls(__name__)
@pytest.mark.parametrize("lost", [False, True])
def test_a_database_that_does_not_answer_is_503_and_one_line_in_the_log(caplog: Any, lost: bool) -> None:
    FailingView.error = OperationalError(CANARY)
    if lost:
        # What the driver makes of a connection that is lost in the middle of an answer.
        FailingView.error = DatabaseError(CANARY)
        FailingView.error.__cause__ = psycopg2.DatabaseError(CANARY)
    answer = ApiClient().get("fail")
    assert CANARY not in str(answer.refused(503, "UNAVAILABLE"))
    assert answer.headers["Retry-After"] == "5"
    (record,) = caplog.records
    assert len(TextFormatter().format(record).splitlines()) == 1


@pytest.mark.urls(__name__)
def test_an_error_of_the_domain_keeps_code_hint_and_details() -> None:
    FailingView.error = ConflictError("It is so.", hint="Do this.", details={"run": "7"})
    error = ApiClient().get("fail").refused(409, "CONFLICT")
    assert error == {"code": "CONFLICT", "message": "It is so.", "hint": "Do this.", "details": {"run": "7"}}
    FailingView.error = SyncovaError("It broke.")
    ApiClient().get("fail").refused(500, "INTERNAL")


def test_nested_details_become_names_of_fields() -> None:
    detail: Any = {"sources": [{}, {"path": ["Bad."]}], "schedule": {"time": ["Bad."]}, "non_field_errors": ["Both."]}
    assert flat_details(serializers.ValidationError(detail).detail) == {
        "sources.1.path": ["Bad."],
        "schedule.time": ["Bad."],
        "body": ["Both."],
    }


def test_answers_carry_security_headers_and_a_request_id() -> None:
    answer = ApiClient().get("repositories", **{"X-Request-ID": "bad id\n"})
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Request-ID"] != "bad id\n"
    assert len(answer.headers["X-Request-ID"]) == 32
