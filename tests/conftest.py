"""Fixtures of every test: a private PostgreSQL and Valkey, started only when a test asks for the database or broker.

Owns the settings that tests run with. Whatever servers the environment names are never touched.
"""

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management.commands import flush
from django.db import connections
from django.db.backends.postgresql.operations import DatabaseOperations

from syncova_project.connection_urls import database_settings
from syncova_project.embedded import postgres, servers, valkey
from syncova_project.embedded.layout import Layout
from tests import private_servers
from tests.canaries_watch import capfd as capfd
from tests.canaries_watch import capsys as capsys
from tests.canaries_watch import pytest_runtest_logreport as pytest_runtest_logreport
from tests.canaries_watch import pytest_sessionfinish as pytest_sessionfinish
from tests.canaries_watch import pytest_terminal_summary as pytest_terminal_summary
from tests.canaries_watch import tmp_path as tmp_path
from tests.canaries_watch import watch_children

_ENDED: list[Any] = []
_MADE_BY_MIGRATE = ("django_content_type", "auth_permission")


def pytest_configure(config: pytest.Config) -> None:
    """Give this process settings of its own before any test is collected."""
    _take_signals_again()
    watch_children()
    for name in [name for name in os.environ if name.startswith("SYNCOVA_") and name != "SYNCOVA_SERVICE_USER"]:
        del os.environ[name]
    manager = private_servers.session_directory()
    directory = manager.__enter__()
    _ENDED.append(manager)
    (directory / "none.env").touch()
    os.environ["SYNCOVA_SETTINGS_FILE"] = str(directory / "none.env")
    os.environ["SYNCOVA_DATA_DIR"] = str(directory)
    os.environ["XDG_STATE_HOME"] = str(directory / "state")
    connections.settings["default"].update(database_settings(None))
    django_settings.SECRET_KEY = os.urandom(24).hex()
    django_settings.SYNCOVA_SECRET_KEYS = [os.urandom(32)]
    django_settings.SYNCOVA_BROKER_URL = ""
    django_settings.SYNCOVA_MIGRATION_DATABASE_URL = None
    django_settings.DATA_DIR = directory
    # Tests come faster than any client; the limits have tests of their own.
    django_settings.SYNCOVA_TOKEN_RATE = django_settings.SYNCOVA_ADDRESS_RATE = 0
    django_settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    _empty_only_what_holds_rows()


def _take_signals_again() -> None:
    """Undo what a shell does to jobs in its background: programs under test would inherit the ignored interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what the session started and remove its directory."""
    while _ENDED:
        _ENDED.pop().__exit__(None, None, None)


@pytest.fixture(scope="session")
def session_directory() -> Path:
    """Return the private directory of this session; as root the servers' user may pass it."""
    return Path(os.environ["SYNCOVA_DATA_DIR"])


@pytest.fixture(scope="session")
def postgres_server(session_directory: Path) -> Iterator[private_servers.TestDatabase]:
    """Return the session's own PostgreSQL, started on first use."""
    layout, account = private_servers.layout_in(session_directory)
    database = private_servers.start_database(layout, account)
    yield database
    postgres.stop(database.running.identity)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres_server: private_servers.TestDatabase) -> None:
    """Point Django at the private server, whatever the environment said."""
    connections.settings["default"].update(database_settings(postgres_server.test_url))


@pytest.fixture(scope="session")
def valkey_server(session_directory: Path) -> Iterator[servers.RunningValkey]:
    """Return the session's own Valkey, started on first use."""
    layout, account = private_servers.layout_in(session_directory)
    running = servers.start_valkey(layout, account)
    yield running
    valkey.stop(running.identity)


@pytest.fixture
def valkey_url(valkey_server: servers.RunningValkey, session_directory: Path, settings: Any) -> str:
    """Return the address of an empty Valkey; it is the broker of the settings too."""
    layout = Layout(session_directory)
    assert valkey.ask(valkey.socket_path(layout), valkey.keep_password(layout.secrets), "FLUSHALL") == "+OK"
    settings.SYNCOVA_BROKER_URL = valkey_server.url
    return valkey_server.url


def _empty_only_what_holds_rows() -> None:
    """Empty tables after a test with transactions of its own by deleting, past triggers and references.

    To truncate fifty tables takes ten times as long as to look which hold anything, and what Django makes of the models
    at the end of migrations never changes: it need not be made anew.
    """

    def sql_flush(self: Any, style: Any, tables: Iterable[str], **options: bool) -> list[str]:
        names = [self.quote_name(name) for name in tables if name not in _MADE_BY_MIGRATE]
        looks = (f"SELECT {at} WHERE EXISTS (SELECT FROM {name})" for at, name in enumerate(names))
        with self.connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join(looks))
            held = [names[at] for (at,) in cursor.fetchall()]
        return ["SET LOCAL session_replication_role = replica", *(f"DELETE FROM {name}" for name in held)]

    DatabaseOperations.sql_flush = sql_flush  # type: ignore[method-assign]
    flush.emit_post_migrate_signal = lambda *arguments, **options: None  # type: ignore[attr-defined]
