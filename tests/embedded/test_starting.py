"""What keeps `up` from starting, which servers it takes, and whose processes they are (1.4, 1.17)."""

import json
import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from syncova_project.embedded import accounts, processes
from syncova_project.embedded.python_copy import interpreter_for
from tests import private_servers
from tests.embedded.stack import MEMBERS, Bench, get

DATA = "start"


def test_up_refuses_temporary_directories_and_taken_ports(bench):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "syncova_project.embedded", "up", "--data", "/tmp/syncova"],
        env=bench.variables,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "lies below /tmp" in done.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = bench.run("up", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert "is taken" in done.stderr


def test_an_unknown_setting_stops_the_start(bench):
    done = subprocess.run(
        bench.argv("up"),
        env={**bench.variables, "SYNCOVA_TICK_SECOND": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("Did you mean SYNCOVA_TICK_SECONDS?") == 1


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SYNCOVA_PUBLIC_URL", "ftp://x", "is not http(s)://host"),
        ("SYNCOVA_SECRET_KEYS", "abc", "hexadecimal digits"),
        ("SYNCOVA_DATABASE_URL", "mysql://x", "SYNCOVA_DATABASE_URL"),
        ("SYNCOVA_ORPHAN_SECONDS", "60", "less than 3 times"),
    ],
)
def test_settings_are_judged_before_anything_is_started(bench, name, value, said):
    done = subprocess.run(
        bench.argv("up", "-d"),
        env={**bench.variables, name: value},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("syncova: ") == 1
    assert "Error" not in done.stderr
    assert not bench.layout.postgres.exists()


def test_a_port_that_is_none_is_named(bench):
    done = bench.run("up", "--port", "99999")
    assert done.returncode == 2
    assert "'99999' is no port" in done.stderr


def test_an_error_of_the_detached_start_is_told_once(bench):
    """The starter's sentence comes with its next step; no second prefix and no second log."""
    place = Bench(bench.layout.root.with_name("torn"))
    (place.layout.root / "servers" / "postgres").mkdir(parents=True)
    (place.layout.root / "servers" / "postgres" / "PG_VERSION").write_text("18")
    done = place.run("up", "-d", "--port", "0")
    assert done.returncode == 1
    assert "postgres_superuser is missing" in done.stderr
    assert "./syncova agent restore" in done.stderr
    assert done.stderr.splitlines()[-1].count("syncova: ") == 1
    assert "The log is" not in done.stderr


def test_servers_that_the_environment_names_are_used_and_none_is_started(bench, postgres_server, valkey_url):
    variables = {
        **bench.variables,
        "SYNCOVA_DATABASE_URL": postgres_server.running.application_url,
        "SYNCOVA_MIGRATION_DATABASE_URL": postgres_server.running.owner_url,
        "SYNCOVA_BROKER_URL": valkey_url,
    }
    done = subprocess.run(bench.argv("up", "-d", "--port", "0"), env=variables, cwd="/", check=False, timeout=120)
    assert done.returncode == 0
    try:
        found = bench.status()
        assert {member["name"] for member in found["processes"]} == MEMBERS - {"postgres", "valkey"}
        assert get(f"{found['url']}/health/ready") == 200
    finally:
        bench.run("down")
    assert processes.is_alive(postgres_server.running.identity)


@private_servers.as_root
def test_an_ordinary_user_runs_the_stack_and_owns_all_of_it(session_directory):
    private_servers.skip_without_a_lasting_place(session_directory)
    layout, account = private_servers.layout_in(session_directory / "copies")
    home = session_directory / "home"
    home.mkdir(mode=0o700)
    os.chown(home, account.uid, account.gid)
    interpreter = interpreter_for(account, layout.programs)
    for directory in (layout.root, session_directory):
        assert accounts.closed_directory(account, directory) is None

    def run(*words: str, output: int = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*interpreter.argv, "-m", "syncova_project.embedded", *words],
            user=account.uid,
            group=account.gid,
            extra_groups=[],
            env={"PATH": "/usr/bin:/bin", "HOME": str(home), **interpreter.variables},
            cwd="/",
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
        )

    terminal, other_end = pty.openpty()
    try:
        done = run("up", "-d", "--port", "0", output=other_end)
        assert done.returncode == 0, done.stderr
        password = (home / ".local/share/syncova/secrets/admin_password").read_text().strip()
        assert password in os.read(terminal, 4096).decode(), "the first start shows it on a terminal"
        found = json.loads(run("status", "--json").stdout)
        assert found["data_dir"] == str(home / ".local" / "share" / "syncova")
        assert {Path(f"/proc/{member['pid']}").stat().st_uid for member in found["processes"]} == {account.uid}
        assert get(f"{found['url']}/health/ready") == 200
    finally:
        done = run("down")
    assert done.returncode == 0
    open_paths = [path for path in home.rglob("*") if path.lstat().st_mode & 0o077 and not path.is_symlink()]
    assert [path for path in open_paths if ".local/share/syncova/" in str(path)] == []
