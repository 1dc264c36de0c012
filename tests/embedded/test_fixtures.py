"""The private servers of the test session are what Django and the broker use."""

import pytest
from django.db import connection


@pytest.mark.django_db
def test_the_database_is_the_sessions_own_postgresql_18(session_directory):
    with connection.cursor() as cursor:
        cursor.execute("SELECT inet_server_port(), current_setting('server_version_num')")
        port, version = cursor.fetchone()
    assert connection.settings_dict["HOST"] == str(session_directory / "run")
    assert port is None
    assert version.startswith("18")


def test_the_broker_is_the_sessions_own_valkey(valkey_url, session_directory, settings):
    assert valkey_url == settings.SYNCOVA_BROKER_URL
    assert str(session_directory) in valkey_url


@pytest.mark.django_db(transaction=True)
def test_tables_are_emptied_after_a_test_with_real_transactions(django_user_model):
    django_user_model.objects.create_user("alice")
