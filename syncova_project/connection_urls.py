"""Read and write the addresses of PostgreSQL and of the broker; pure, no connection is made here.

Must not import Django: the embedded servers build their addresses with it too.
"""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from syncova_project.errors import ConfigurationError

_SCHEMES = frozenset({"postgresql", "postgres"})
# Seconds: a stopped server must show itself as an error, not as a hanging request.
_CONNECT_TIMEOUT = 5
# A process that holds still inside a transaction must not keep its row locks for ever; dead peers are noticed.
_PATIENCE = {
    "options": "-c idle_in_transaction_session_timeout=60000",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}


def database_settings(url: str | None) -> dict[str, Any]:
    """Return Django's DATABASES entry; with no URL one whose use Django refuses for want of a name."""
    settings: dict[str, Any] = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "",
        "CONN_MAX_AGE": 300,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": _CONNECT_TIMEOUT, "application_name": "syncova", **_PATIENCE},
    }
    if url is None or not url.strip():
        return settings
    parts = urlsplit(url.strip())
    name = unquote(parts.path.lstrip("/"))
    if parts.scheme not in _SCHEMES or not name:
        raise ConfigurationError(
            "SYNCOVA_DATABASE_URL is not postgresql://user:password@host:port/name.",
            hint="For a socket write postgresql://user:password@/name?host=/directory.",
        )
    options = dict(parse_qsl(parts.query))
    host = options.pop("host", "") or unquote(parts.hostname or "")
    port = options.pop("port", "") or str(_port(parts.port))
    settings.update(
        NAME=name, USER=unquote(parts.username or ""), PASSWORD=unquote(parts.password or ""), HOST=host, PORT=port
    )
    settings["OPTIONS"] |= options
    return settings


def socket_database_url(*, user: str, password: str, name: str, directory: Path) -> str:
    """Return the address of a database behind a Unix socket."""
    return f"postgresql://{quote(user)}:{quote(password, safe='')}@/{quote(name)}?host={quote(str(directory))}"


def socket_broker_url(*, password: str, path: Path) -> str:
    """Return the address of a Valkey behind a Unix socket, in Celery's spelling."""
    return f"redis+socket://:{quote(password, safe='')}@{quote(str(path))}"


def _port(port: int | None) -> int | str:
    return "" if port is None else port
