"""The embedded PostgreSQL: cluster, configuration, start, roles, stop. Unix socket only, scram for everyone.

Owns three roles: the superuser (starter only), the owner of the tables (migrations), and the application's role,
which owns nothing. Must not be asked to run as root; the account in the plan is switched to.
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg2
import psycopg2.extensions
from psycopg2 import sql

from syncova_project import clock
from syncova_project.embedded import keepsakes, processes
from syncova_project.embedded.accounts import Account
from syncova_project.embedded.layout import Layout, has_cluster
from syncova_project.embedded.problems import RESTORING, DataDirectoryError, ServerStartError

NAME = "postgres"
_ROLES = ("superuser", "owner", "application")
SUPERUSER, OWNER, APPLICATION, DATABASE = "postgres", "syncova_owner", "syncova", "syncova"
MAJOR = "18"
_START_SECONDS = 60.0
_CONFIGURATION = """\
# Written by `up` at every start; own values belong into local.conf beside it.
listen_addresses = ''
port = 5432
unix_socket_directories = '{sockets}'
unix_socket_permissions = 0700
password_encryption = 'scram-sha-256'
max_connections = 100
shared_buffers = '128MB'
# In the cluster, not in /dev/shm, where a killed server would leave it.
dynamic_shared_memory_type = 'mmap'
huge_pages = off
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
max_parallel_workers_per_gather = 0
{extra}
include_if_exists 'local.conf'
"""
_HBA = "# Written by `up` at every start: a password for everyone, no network.\nlocal all all scram-sha-256\n"
# Tests and the demo throw their cluster away, so they need not wait for the disk; a killed server still keeps what
# it committed.
THROWAWAY = "fsync = off\nfull_page_writes = off\n"


@dataclass(frozen=True, slots=True)
class Passwords:
    """One random password per role."""

    superuser: str
    owner: str
    application: str


def keep_passwords(directory: Path) -> Passwords:
    """Return the roles' passwords, made on the first call."""
    return Passwords(*(keepsakes.keep(directory, f"postgres_{role}") for role in _ROLES))


def refuse_missing_secrets(layout: Layout) -> None:
    """Raise DataDirectoryError when a cluster is there and a password of its roles is not: a new one would not fit."""
    if not has_cluster(layout):
        return
    for role in _ROLES:
        path = layout.secrets / f"postgres_{role}"
        if not path.exists():
            raise DataDirectoryError(
                f"{path} is missing, and the database in {layout.postgres} needs it.",
                hint=f"Restore it from a copy of the data directory. {RESTORING}",
            )


def command(layout: Layout, account: Account, bin_directory: Path) -> processes.Command:
    """Return how the server is started; argv holds no secret."""
    return processes.Command(
        name=NAME,
        argv=(str(bin_directory / "postgres"), "-D", str(layout.postgres)),
        environment=_environment(),
        directory=layout.postgres,
        log=layout.log(NAME),
        account=account,
    )


def prepare(layout: Layout, account: Account, bin_directory: Path, extra: str = "") -> None:
    """Make the cluster where there is none, clear what a crash left, and write the configuration.

    The caller holds the data directory and has stopped its leftovers: nothing runs in this cluster.
    """
    if not (layout.postgres / "PG_VERSION").exists():
        _make_cluster(layout, account, bin_directory)
    version = (layout.postgres / "PG_VERSION").read_text(encoding="ascii").strip()
    if version != MAJOR:
        raise ServerStartError(
            f"{layout.postgres} was written by PostgreSQL {version}; this release brings {MAJOR}.",
            hint="Dump it with the old release and load the dump with the new one.",
        )
    # After a power cut the pid in it may belong to any program; PostgreSQL would then refuse to start.
    (layout.postgres / "postmaster.pid").unlink(missing_ok=True)
    for leftover in layout.sockets.glob(".s.PGSQL.*"):
        leftover.unlink(missing_ok=True)
    write_private(layout.postgres / "pg_hba.conf", _HBA, account)
    content = _CONFIGURATION.format(sockets=str(layout.sockets).replace("'", "''"), extra=extra)
    write_private(layout.postgres / "postgresql.conf", content, account)


def wait_ready(layout: Layout, passwords: Passwords, identity: processes.Identity) -> None:
    """Wait until the server answers its superuser; raises ServerStartError when it ends or stays silent."""
    end = clock.monotonic() + _START_SECONDS
    while True:
        try:
            with connected(layout, SUPERUSER, passwords.superuser, SUPERUSER):
                return
        except psycopg2.OperationalError as error:
            if not processes.is_alive(identity) or clock.monotonic() > end:
                said = processes.last_line(layout.log(NAME)) or str(error).strip()
                raise ServerStartError(
                    f"PostgreSQL did not start: {said}", hint=f"Its log is {layout.log(NAME)}. {RESTORING}"
                ) from None
        clock.sleep(0.05)


def ensure_roles(layout: Layout, passwords: Passwords) -> None:
    """Make the roles and the database where they are missing and set the kept passwords; safe to repeat."""
    with connected(layout, SUPERUSER, passwords.superuser, SUPERUSER) as cursor:
        for role, password in ((OWNER, passwords.owner), (APPLICATION, passwords.application)):
            cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,))
            verb = "ALTER" if cursor.fetchone() else "CREATE"
            statement = sql.SQL(verb + " ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD %s")
            cursor.execute(statement.format(sql.Identifier(role)), (password,))
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
        if not cursor.fetchone():
            cursor.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(DATABASE), sql.Identifier(OWNER))
            )
    with connected(layout, SUPERUSER, passwords.superuser, DATABASE) as cursor:
        cursor.execute(_GRANTS)


_GRANTS = f"""
REVOKE ALL ON DATABASE {DATABASE} FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT CONNECT ON DATABASE {DATABASE} TO {APPLICATION};
GRANT USAGE ON SCHEMA public TO {APPLICATION};
ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {APPLICATION};
ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO {APPLICATION};
"""


@contextlib.contextmanager
def connected(layout: Layout, user: str, password: str, database: str) -> "Iterator[psycopg2.extensions.cursor]":
    """Yield a cursor in autocommit mode; raises psycopg2.OperationalError when the server does not take it."""
    connection = psycopg2.connect(
        host=str(layout.sockets), port=5432, user=user, password=password, dbname=database, connect_timeout=5
    )
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()


def stop(identity: processes.Identity, grace: float = 5.0) -> None:
    """End the server: fast shutdown, then immediate, then kill; takes `grace` + 4 seconds at most."""
    processes.send(identity, signal.SIGINT)
    if processes.wait_gone([identity], grace):
        processes.stop([identity], signal.SIGQUIT, 2)


def _make_cluster(layout: Layout, account: Account, bin_directory: Path) -> None:
    beside = layout.postgres.with_name("postgres.new")
    shutil.rmtree(beside, ignore_errors=True)
    if layout.postgres.exists():
        # A whole cluster is put in place at once, so this was one, or is someone else's: never remove it.
        raise ServerStartError(
            f"{layout.postgres} exists, but is no PostgreSQL cluster any more: PG_VERSION is missing.",
            hint="Restore it from a copy, or move it away to begin with an empty database.",
        )
    password_file = layout.sockets / "initdb"
    beside.mkdir(mode=0o700)
    if account.switched:
        os.chown(beside, account.uid, account.gid)
    write_private(password_file, keepsakes.read(layout.secrets / "postgres_superuser") or "", account)
    try:
        _run_initdb(beside, password_file, account, bin_directory)
    finally:
        password_file.unlink(missing_ok=True)
    # initdb is not atomic; a cluster without this name is never started.
    beside.rename(layout.postgres)


def _run_initdb(target: Path, password_file: Path, account: Account, bin_directory: Path) -> None:
    argv = [str(bin_directory / "initdb"), "-D", str(target), "-U", SUPERUSER, f"--pwfile={password_file}"]
    argv += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--locale-provider=builtin"]
    argv += ["--builtin-locale=C.UTF-8", "--no-instructions", "--no-sync"]
    result = subprocess.run(
        argv,
        env=_environment(),
        cwd=target,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        umask=0o077,
        user=account.uid if account.switched else None,
        group=account.gid if account.switched else None,
        extra_groups=[] if account.switched else None,
    )
    if result.returncode != 0:
        said = (result.stderr or result.stdout).decode("utf-8", "replace").strip().splitlines()
        raise ServerStartError(f"initdb failed: {said[-1] if said else result.returncode}")


def write_private(path: Path, content: str, account: Account) -> None:
    """Replace a file by a 0600 one that belongs to the account."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
        if account.switched:
            os.fchown(file.fileno(), account.uid, account.gid)


def _environment() -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
