"""The embedded servers as an attacker on the same machine sees them (1.17): sockets only, passwords, modes, roles."""

import os
import socket
import stat
import subprocess
from pathlib import Path

import psycopg2
import pytest

from syncova_project.embedded import postgres, valkey
from syncova_project.embedded.accounts import service_account
from syncova_project.embedded.layout import Layout
from syncova_project.embedded.programs import programs_for
from tests.embedded.sockets import listening_inodes, socket_inodes
from tests.private_servers import as_root

STRANGER = 54321


@pytest.fixture
def layout(postgres_server, valkey_server, session_directory) -> Layout:
    return Layout(session_directory)


def run_as(uid: int, *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        argv, user=uid, group=uid, extra_groups=[], cwd="/", env={}, capture_output=True, text=True, check=False
    )


def test_the_proof_below_can_fail():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        assert socket_inodes(os.getpid()) & listening_inodes()


def test_no_server_listens_on_tcp(layout, postgres_server, valkey_server):
    for identity in (postgres_server.running.identity, valkey_server.identity):
        assert socket_inodes(identity.pid)
        assert not socket_inodes(identity.pid) & listening_inodes()


def test_no_server_runs_as_root(layout, postgres_server, valkey_server):
    account = service_account(None)
    for identity in (postgres_server.running.identity, valkey_server.identity):
        assert Path(f"/proc/{identity.pid}").stat().st_uid == account.uid != 0


def test_no_password_stands_in_a_command_line(layout, postgres_server, valkey_server):
    secrets = [path.read_text().strip() for path in layout.secrets.iterdir()]
    assert secrets
    for identity in (postgres_server.running.identity, valkey_server.identity):
        line = Path(f"/proc/{identity.pid}/cmdline").read_text()
        assert not [secret for secret in secrets if secret in line]


@pytest.mark.parametrize("role", [postgres.SUPERUSER, postgres.OWNER, postgres.APPLICATION])
@pytest.mark.parametrize("password", ["", "wrong"])
def test_no_role_gets_in_without_its_password(layout, role, password):
    with pytest.raises(psycopg2.OperationalError, match="password"), postgres.connected(layout, role, password, role):
        pass


@as_root
def test_even_the_servers_own_user_needs_a_password(layout):
    account = service_account(None)
    psql = programs_for(account, layout.programs).postgres_bin / "psql"
    done = run_as(account.uid, str(psql), "-w", "-h", str(layout.sockets), "-U", postgres.SUPERUSER, "-c", "SELECT 1")
    assert done.returncode != 0
    assert "no password supplied" in done.stderr


def test_valkey_answers_nobody_without_a_password(layout):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(valkey.socket_path(layout)))
        client.sendall(b"PING\r\n")
        assert client.recv(100).startswith(b"-NOAUTH")
    assert not valkey.answers(valkey.socket_path(layout), "wrong")


@as_root
@pytest.mark.parametrize("part", ["", "run", "secrets", "servers", "logs", "programs"])
def test_a_second_user_sees_nothing(layout, part):
    done = run_as(STRANGER, "/bin/ls", str(layout.root / part))
    assert done.returncode != 0
    assert "Permission denied" in done.stderr


@as_root
def test_a_second_user_reaches_no_socket(layout):
    code = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    for path in (layout.sockets / ".s.PGSQL.5432", valkey.socket_path(layout)):
        done = run_as(STRANGER, "/usr/bin/env", "python3", "-c", code, str(path))
        if done.returncode == 127:
            pytest.skip("no Python that another user may run")
        assert "PermissionError" in done.stderr


def is_closed(path):
    return not stat.S_IMODE(path.lstat().st_mode) & 0o007


def test_nothing_in_the_data_directory_is_open_to_others(layout):
    open_paths = [
        path
        for path in layout.root.rglob("*")
        # Sockets ask for a password and lie in a 0700 directory; PostgreSQL's own is made with the mode we set.
        if not path.is_symlink() and stat.S_IMODE(path.lstat().st_mode) & 0o007
        if path.parent != layout.root  # lock and settings of the test session itself
        # What was restored has the modes that it had; no other user gets as far as its directory.
        if not any(parent.name == "restores" and is_closed(parent) for parent in path.parents)
    ]
    assert open_paths == []
    assert stat.S_IMODE(layout.sockets.stat().st_mode) == 0o700


def test_the_application_owns_nothing(layout, postgres_server):
    owner, application = (
        psycopg2.connect(url) for url in (postgres_server.running.owner_url, postgres_server.running.application_url)
    )
    owner.autocommit = application.autocommit = True
    with owner.cursor() as own, application.cursor() as use:
        own.execute("CREATE TABLE things (id bigint GENERATED ALWAYS AS IDENTITY, name text)")
        try:
            use.execute("INSERT INTO things (name) VALUES ('a'); UPDATE things SET name = 'b'")
            use.execute("SELECT name FROM things")
            assert use.fetchall() == [("b",)]
            for statement in (
                "TRUNCATE things",
                "DROP TABLE things",
                "ALTER TABLE things DISABLE TRIGGER ALL",
                "CREATE TABLE more ()",
                "CREATE SCHEMA more",
                "CREATE ROLE more",
                "SET session_replication_role = replica",
            ):
                with pytest.raises(psycopg2.errors.InsufficientPrivilege):
                    use.execute(statement)
            use.execute("SELECT count(*) FROM pg_class WHERE relowner = 'syncova'::regrole")
            assert use.fetchone() == (0,)
        finally:
            own.execute("DROP TABLE things")
    owner.close()
    application.close()


def test_strangers_to_the_database_may_not_connect(layout, postgres_server):
    with postgres.connected(
        layout, postgres.SUPERUSER, postgres.keep_passwords(layout.secrets).superuser, "postgres"
    ) as cursor:
        cursor.execute("CREATE ROLE stranger LOGIN PASSWORD 'x'")
        try:
            with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
                psycopg2.connect(host=str(layout.sockets), user="stranger", password="x", dbname=postgres.DATABASE)
        finally:
            cursor.execute("DROP ROLE stranger")


def test_lower_knows_more_than_ascii(layout, postgres_server):
    """Names are unique by lower(name): the cluster's locale must know letters beyond ASCII."""
    connection = psycopg2.connect(postgres_server.running.application_url)
    with connection.cursor() as cursor:
        cursor.execute("SELECT lower('ÄÖÜ ЖЯ')")
        assert cursor.fetchone() == ("äöü жя",)
    connection.close()
