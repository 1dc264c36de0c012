"""The private servers of the test session are what Django and the broker use."""

import os
import socket
import subprocess
import sys
from pathlib import Path

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


def test_servers_in_the_environment_are_never_touched():
    """1.4: demo and test never touch servers named in the environment."""
    with socket.socket() as watched:
        watched.bind(("127.0.0.1", 0))
        watched.listen()
        watched.setblocking(False)
        address = f"127.0.0.1:{watched.getsockname()[1]}"
        variables = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SYNCOVA_")},
            "SYNCOVA_DATABASE_URL": f"postgresql://alice:x@{address}/precious",
            "SYNCOVA_MIGRATION_DATABASE_URL": f"postgresql://alice:x@{address}/precious",
            "SYNCOVA_BROKER_URL": f"redis://{address}/0",
        }
        here = Path(__file__)
        chosen = f"{here}::test_tables_are_emptied_after_a_test_with_real_transactions"
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "--nomigrations",
                chosen,
                f"{here}::test_the_broker_is_the_sessions_own_valkey",
            ],
            cwd=here.parents[2],
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "2 passed" in done.stdout, done.stdout + done.stderr
        with pytest.raises(BlockingIOError):
            watched.accept()
