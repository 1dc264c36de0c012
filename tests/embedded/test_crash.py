"""The servers after their starter was killed, after a power cut, and when they are stopped by a signal (1.3)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg2
import pytest

from syncova_project import clock
from syncova_project.embedded import accounts, postgres, processes, servers, valkey
from syncova_project.embedded.layout import Layout, prepare
from syncova_project.embedded.leftovers import stop_leftovers
from syncova_project.embedded.problems import ServerStartError
from tests import private_servers

ROOT = Path(__file__).resolve().parents[2]
STARTER = """
import sys, time
from pathlib import Path
from syncova_project.embedded import servers
from tests import private_servers
layout, account = private_servers.layout_in(Path(sys.argv[1]))
running = servers.start_postgres(layout, account, throwaway=True)
print(running.identity.pid, servers.start_valkey(layout, account).identity.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def layout(session_directory) -> Layout:
    return private_servers.layout_in(session_directory / "crash")[0]


def start(layout: Layout) -> servers.RunningPostgres:
    return servers.start_postgres(*private_servers.layout_in(layout.root), throwaway=True)


def rows(running: servers.RunningPostgres) -> int:
    connection = psycopg2.connect(running.owner_url)
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS kept (id int); INSERT INTO kept VALUES (1)")
        cursor.execute("SELECT count(*) FROM kept")
        count = int(cursor.fetchone()[0])
    connection.close()
    return count


def test_servers_of_a_killed_starter_are_stopped_and_their_data_goes_on(layout):
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(layout.root)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    left = [identity for pid in starter.stdout.readline().split() if (identity := processes.identify(int(pid)))]
    starter.kill()
    starter.wait()
    assert len(left) == 2
    assert all(processes.is_alive(identity) for identity in left)
    assert stop_leftovers(layout, print) >= 2
    assert not any(processes.is_alive(identity) for identity in left)
    assert processes.writers_of(layout.logs) == []
    running = start(layout)
    assert rows(running) == 1
    postgres.stop(running.identity)


def test_a_pid_file_that_names_a_living_stranger_does_not_stop_the_start(layout):
    running = start(layout)
    count = rows(running)
    processes.stop([running.identity, *processes.writers_of(layout.logs)], signal.SIGKILL, 5)
    content = (layout.postgres / "postmaster.pid").read_text().splitlines()
    (layout.postgres / "postmaster.pid").write_text("\n".join([str(os.getppid()), *content[1:]]) + "\n")
    running = start(layout)
    assert rows(running) == count + 1
    postgres.stop(running.identity)


def test_a_cluster_that_was_half_made_is_made_again(session_directory):
    layout, account = private_servers.layout_in(session_directory / "half")
    half = layout.root / "servers" / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    running = servers.start_postgres(layout, account, throwaway=True)
    assert rows(running) == 1
    assert not half.exists()
    postgres.stop(running.identity)


@private_servers.as_root
def test_another_service_user_takes_over_what_the_first_one_made(session_directory):
    first, second = accounts.service_account("nobody"), accounts.service_account("daemon")
    top = session_directory / "handed"
    for account in (first, second, first):
        # The session's directory lets one group pass; here two users must.
        (session_directory).chmod(0o711)
        prepare(Layout(top), account)
        running = servers.start_postgres(Layout(top), account, throwaway=True)
        broker = servers.start_valkey(Layout(top), account)
        count = rows(running)
        assert Path(f"/proc/{running.identity.pid}").stat().st_uid == account.uid
        valkey.stop(broker.identity)
        postgres.stop(running.identity)
    assert count == 3
    owners = {path.lstat().st_uid for path in Layout(top).postgres.rglob("*")}
    assert owners == {first.uid}


def test_a_damaged_cluster_is_never_replaced_by_an_empty_one(layout):
    version = layout.postgres / "PG_VERSION"
    version.rename(layout.postgres / "lost")
    with pytest.raises(ServerStartError, match="PG_VERSION is missing"):
        start(layout)
    (layout.postgres / "lost").rename(version)
    assert (layout.postgres / "base").is_dir()


def test_a_cluster_of_another_release_is_refused_untouched(layout):
    version = layout.postgres / "PG_VERSION"
    version.write_text("17\n")
    with pytest.raises(ServerStartError, match=r"PostgreSQL 17.*18"):
        start(layout)
    version.write_text("18\n")


@pytest.mark.parametrize("stopped", [False, True])
def test_ending_a_server_is_bounded_even_when_it_is_stopped_by_a_signal(layout, stopped):
    running, broker = start(layout), servers.start_valkey(*private_servers.layout_in(layout.root))
    for identity in (running.identity, broker.identity):
        if stopped:
            os.kill(identity.pid, signal.SIGSTOP)
    valkey.stop(broker.identity)
    postgres.stop(running.identity)
    assert not processes.is_alive(broker.identity)
    assert not processes.is_alive(running.identity)


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(layout):
    (layout.postgres / "local.conf").write_text("no_such_parameter = 1\n")
    began = clock.monotonic()
    with pytest.raises(ServerStartError, match="PostgreSQL did not start") as caught:
        start(layout)
    (layout.postgres / "local.conf").unlink()
    assert str(layout.log("postgres")) in caught.value.hint
    assert processes.writers_of(layout.logs) == []
    assert clock.monotonic() - began < 50, "the end of the server is noticed, not only its silence"
