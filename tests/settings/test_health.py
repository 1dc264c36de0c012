"""The probes: alive without any server, ready only with a database that takes writes and a broker that answers."""

import pytest
from django.db import connection
from django.test import RequestFactory

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
def test_a_read_only_database_is_not_ready():
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        assert not health.probe_database()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = off")
    assert health.probe_database()
