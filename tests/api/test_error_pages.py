"""Refusals and failures as a person meets them: a reason and a next step, on pages that ask no database (E8, 7.11)."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from jobs.models import Job
from syncova_project import clock
from syncova_project.access.models import ApiToken
from syncova_project.access.services import token_create
from tests import canaries
from tests.api.builders import make_job
from tests.api.client import ApiClient

pytestmark = pytest.mark.django_db


@pytest.fixture
def _away() -> Iterator[None]:
    """Let the database's socket be where nobody listens."""
    connection.close()
    place, connection.settings_dict["HOST"] = connection.settings_dict["HOST"], "/nonexistent"
    yield
    connection.close()
    connection.settings_dict["HOST"] = place


def browser(user: User | None = None, **options: Any) -> Client:
    client = Client(raise_request_exception=False, **options)
    if user is not None:
        client.force_login(user)
    return client


def root() -> User:
    return User.objects.create_superuser("root", password=canaries.login_password("root"))


def reader() -> User:
    return User.objects.create_user("rea", is_staff=True)


def page(response: Any, status: int, *words: str) -> str:
    text: str = response.content.decode()
    assert (response.status_code, response.headers["Content-Type"].split(";")[0]) == (status, "text/html"), text
    for word in (*words, "Start page", response.headers["X-Request-ID"]):
        assert word in text, word
    return text


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_away")
def test_a_database_that_is_away_is_503_on_pages_as_in_the_api() -> None:
    client = browser()
    client.cookies["sessionid"] = "x" * 32
    for response in (client.get("/admin/"), client.post("/admin/login/", {"username": "root", "password": "x"})):
        page(response, 503, "The database does not answer now.", "Try again", "UNAVAILABLE")
        assert response.headers["Retry-After"] == "5"
    ApiClient(token="syncova_aaaaaaaaaaaa_" + "0" * 64).get("jobs").refused(503, "UNAVAILABLE")


def test_a_refusal_on_a_page_says_why_and_what_next() -> None:
    job, client = make_job(), browser(reader())
    address = reverse("admin:jobs_job_change", args=[job.pk])
    page(client.get(address), 403, "Your rights do not include this page", "docs/access.md")
    page(client.get("/admin/nothing/"), 404, "There is no such page")
    page(
        browser(root()).get("/admin/jobs/job/?repository__name=x"), 400, "cannot be filtered", "filters beside the list"
    )
    strict = browser(enforce_csrf_checks=True)
    page(strict.post("/admin/login/", {"username": "root"}), 403, "Load the page again", "SYNCOVA_PUBLIC_URL")


def test_a_page_of_an_error_shows_nothing_that_was_asked() -> None:
    text = page(browser(root()).get("/admin/<script>alert(1)</script>/"), 404)
    assert "alert(1)" not in text


def test_a_session_is_told_which_header_it_lacks() -> None:
    job, strict = make_job(), browser(root(), enforce_csrf_checks=True)
    answer = strict.post(f"/api/v1/jobs/{job.id}/pause")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], "X-CSRFToken" in error["hint"]) == (403, "PERMISSION_DENIED", True)
    assert Job.objects.get().paused_at is None


def test_a_person_is_told_of_their_own_right_and_not_of_a_token() -> None:
    client = ApiClient(token="")
    client.client.force_login(reader())
    error = client.get("jobs").refused(403, "PERMISSION_DENIED")
    assert ("token" in error["message"], "jobs.read" in error["hint"]) == (False, True)
    error = ApiClient("runs.read").get("jobs").refused(403, "PERMISSION_DENIED")
    assert error["message"] == "The token lacks the right for this request."


def test_a_token_that_is_not_there_is_told_in_the_words_of_the_api() -> None:
    assert "GET /api/v1/tokens" in ApiClient().delete("tokens/aaaaaaaaaaaa").refused(404, "TOKEN_NOT_FOUND")["hint"]


def test_who_has_tokens_is_switched_off_and_not_deleted() -> None:
    user = reader()
    token_create(name="t", scopes=["jobs.read"], now=clock.now())
    ApiToken.objects.update(user=user)
    client, address = browser(root()), reverse("admin:auth_user_delete", args=[user.pk])
    for response in (client.get(address), client.post(address, {"post": "yes"})):
        assert "take away “Active”" in response.content.decode()
    assert User.objects.filter(pk=user.pk).exists()
