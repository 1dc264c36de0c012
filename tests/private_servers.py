"""A private directory for one test session, and the embedded servers in it.

Owns where it lies, its lock, and the removal of what killed sessions left. Never connects to a server that the
environment names.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from syncova_project.connection_urls import socket_database_url
from syncova_project.embedded import accounts, claiming, postgres, running, servers
from syncova_project.embedded.layout import POSTGRES_SOCKET, SOCKET_PATH_LIMIT, Layout, prepare
from syncova_project.embedded.leftovers import stop_leftovers
from syncova_project.embedded.problems import DataDirectoryError

CLONE = Path(__file__).resolve().parent.parent
TEST_ROLE = "syncova_test"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
_PREFIX = "syncova-test-"
# A session directory is <place>/<8 characters>; what must fit into a socket's path besides the place itself.
_NEEDED = len(f"/{_PREFIX}12345678/run/{POSTGRES_SOCKET}")


@dataclass(frozen=True, slots=True)
class TestDatabase:
    """Address of the private PostgreSQL for each kind of user."""

    __test__ = False

    running: servers.RunningPostgres
    test_url: str


def places(account: accounts.Account, clone: Path) -> Iterator[Path]:
    """Yield where session directories may lie, best first: in the clone, else where the service user may pass."""
    for place in (clone / ".syncova-test", Path("/var/tmp"), Path(tempfile.gettempdir())):
        fits = len(os.fsencode(place)) + _NEEDED <= SOCKET_PATH_LIMIT
        if fits and accounts.closed_directory(account, place) is None:
            yield place


@contextlib.contextmanager
def session_directory(clone: Path = CLONE) -> Iterator[Path]:
    """Yield a fresh private directory, removed at the end; first removes those of sessions that were killed."""
    account = accounts.service_account(os.environ.get("SYNCOVA_SERVICE_USER"))
    place = next(places(account, clone))
    place.mkdir(exist_ok=True)
    # The lock keeps a rival session from taking a directory for abandoned between its making and its locking.
    with (clone / "tests" / "conftest.py").open("rb") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        _remove_abandoned(place)
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        # While it is empty: the session's servers lie in it beside other things.
        claiming.claim(directory)
        if account.switched:
            os.chown(directory, 0, account.gid)
            directory.chmod(0o710)
        lock = (directory / "lock").open("wb")
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield directory
    finally:
        _remove(directory)
        lock.close()


def skip_without_a_lasting_place(directory: Path) -> None:
    """Skip the test if `up` would refuse this session's directory as one that does not last."""
    try:
        running.refuse_temporary(directory)
    except DataDirectoryError:
        pytest.skip("the clone lies where the servers' user cannot go, so there is no lasting place for `up`")


def layout_in(directory: Path) -> tuple[Layout, accounts.Account]:
    """Prepare a data directory and return it with the account that its servers run as."""
    account = accounts.service_account(os.environ.get("SYNCOVA_SERVICE_USER"))
    layout = Layout(directory)
    prepare(layout, account)
    return layout, account


def start_database(layout: Layout, account: accounts.Account) -> TestDatabase:
    """Start PostgreSQL with a role for the test database: it may make databases and empty guarded tables."""
    database = servers.start_postgres(layout, account, throwaway=True)
    passwords = postgres.keep_passwords(layout.secrets)
    with postgres.connected(layout, postgres.SUPERUSER, passwords.superuser, postgres.SUPERUSER) as cursor:
        cursor.execute(f"CREATE ROLE {TEST_ROLE} LOGIN CREATEDB PASSWORD %s", (passwords.owner,))
        # Emptying tables between tests must pass the triggers that refuse TRUNCATE to everyone else.
        cursor.execute(f"GRANT SET ON PARAMETER session_replication_role TO {TEST_ROLE}")
    url = socket_database_url(
        user=TEST_ROLE, password=passwords.owner, name=postgres.SUPERUSER, directory=layout.sockets
    )
    return TestDatabase(database, url)


def _remove_abandoned(place: Path) -> None:
    for directory in place.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError), (directory / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(directory)


def _remove(directory: Path) -> None:
    for logs in directory.glob("**/logs"):
        stop_leftovers(Layout(logs.parent), print)
    shutil.rmtree(directory, ignore_errors=True)
