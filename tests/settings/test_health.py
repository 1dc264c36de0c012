"""The probes: alive without any server, ready only with a database that takes writes and a broker that answers."""

import datetime as dt
import json
import threading

import pytest
from django.db import connection
from django.test import RequestFactory

from jobs.database_time import database_now
from jobs.pass_guard import begin_pass
from syncova_project import health


def test_alive_needs_no_server():
    assert health.live(RequestFactory().get("/health/live")).status_code == 200
    assert health.live(RequestFactory().post("/health/live")).status_code == 405


@pytest.mark.django_db(transaction=True)
def test_ready_with_both_and_unready_naming_what_fails(valkey_url, settings):
    request = RequestFactory().get("/health/ready")
    assert health.ready(request).status_code == 200
    settings.SYNCOVA_BROKER_URL = valkey_url.replace("valkey.sock", "absent.sock")
    answer = health.ready(request)
    assert answer.status_code == 503
    assert b'{"database": "ok", "broker": "failed"}' in answer.content
    assert b"absent" not in answer.content


@pytest.mark.django_db(transaction=True)
def test_the_age_of_the_last_pass_is_told(valkey_url):
    """The scheduler may be dead while web answers."""
    request = RequestFactory().get("/health/ready")
    assert json.loads(health.ready(request).content)["scheduler_age_seconds"] is None
    begin_pass(database_now() - dt.timedelta(seconds=90))
    answer = health.ready(request)
    assert answer.status_code == 200
    assert 90 <= json.loads(answer.content)["scheduler_age_seconds"] < 600


@pytest.mark.usefixtures("valkey_url")
def test_a_database_that_holds_still_is_not_waited_for(monkeypatch):
    """Two ask, one question is out; when the server goes on, the next asks anew."""
    going_on, asked = threading.Event(), []

    def hang():
        asked.append(1)
        going_on.wait(60)
        return True, 1.0

    monkeypatch.setattr(health, "_LIMIT_SECONDS", 0.05)
    monkeypatch.setattr(health, "_ask_database", hang)
    answers = [health.ready(RequestFactory().get("/health/ready")) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [503, 503]
    assert json.loads(answers[0].content)["checks"]["database"] == "failed"
    assert len(asked) == 1
    going_on.set()
    monkeypatch.setattr(health, "_LIMIT_SECONDS", 20)
    assert health.ready(RequestFactory().get("/health/ready")).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_read_only_database_is_not_ready():
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        assert not health.probe_database()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = off")
    assert health.probe_database()
