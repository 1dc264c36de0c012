"""`up`, `status`, `down` and `logs` as processes: the whole stack on its own servers (1.4, 1.17, 1.18)."""

import contextlib
import datetime as dt
import json
import os
import pty
import pwd
import signal
import socket
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from syncova_project import clock
from syncova_project.embedded import accounts, processes, running
from syncova_project.embedded.layout import Layout
from syncova_project.embedded.problems import DataDirectoryError
from syncova_project.embedded.python_copy import CLONE, interpreter_for
from tests.embedded.test_servers import listening_inodes, socket_inodes

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
MEMBERS = {"postgres", "valkey", "web", "control", "work", "beat"}


class Bench:
    """One data directory and the command line on it."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.variables = {**os.environ, "PYTHONPATH": str(CLONE), "SYNCOVA_SETTINGS_FILE": str(root / "syncova.env")}
        del self.variables["SYNCOVA_SETTINGS_FILE"]

    def argv(self, *words: str) -> list[str]:
        command, *rest = words
        module = [sys.executable, "-P", "-m", "syncova_project.embedded"]
        return [*module, command, "--data", str(self.layout.root), *rest]

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.argv(*words), env=self.variables, cwd="/", capture_output=True, text=True, check=False, timeout=120
        )

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("status", "--json").stdout)
        return found

    def member(self, name: str) -> dict[str, Any]:
        return next(member for member in self.status()["processes"] if member["name"] == name)


def get(url: str, token: str = "") -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    context = ssl._create_unverified_context() if url.startswith("https:") else None
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def eventually(condition: Any, seconds: float = 30) -> bool:
    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        if condition():
            return True
        clock.sleep(0.2)
    return bool(condition())


def certificate(directory: Path) -> tuple[Path, Path]:
    """A self-signed pair whose key only its owner may read."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = clock.now()
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pair = directory / "cert.pem", directory / "key.pem"
    pair[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    pair[1].touch(mode=0o600)
    pair[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pair


@pytest.fixture(scope="module")
def bench(session_directory: Path) -> Iterator[Bench]:
    try:
        running.refuse_temporary(session_directory)
    except DataDirectoryError:
        pytest.skip("the clone lies where the servers' user cannot go, so there is no lasting place for `up`")
    made = Bench(session_directory / "stack")
    yield made
    made.run("down")


@pytest.fixture(scope="module")
def stack(bench: Bench) -> dict[str, Any]:
    done = bench.run("up", "-d", "--port", "0")
    assert done.returncode == 0, done.stderr
    password = (bench.layout.secrets / "admin_password").read_text().strip()
    assert password not in done.stdout, "a pipe is not a terminal"
    return bench.status()


def test_everything_runs_and_web_answers(bench, stack):
    assert stack["phase"] == "ready"
    assert {member["name"] for member in stack["processes"] if member["state"] == "running"} == MEMBERS
    assert get(f"{stack['url']}/health/live") == 200
    assert get(f"{stack['url']}/health/ready") == 200


def test_only_web_listens_on_tcp(bench, stack):
    """1.17: only web's port is open."""
    port = int(stack["url"].rpartition(":")[2])
    open_inodes = listening_inodes()
    inspected = set()
    for identity in processes.writers_of(bench.layout.logs):
        # A backend of PostgreSQL may end at any time, and then has no socket.
        with contextlib.suppress(FileNotFoundError):
            name = Path(os.readlink(f"/proc/{identity.pid}/fd/1")).stem
            mine = socket_inodes(identity.pid) & open_inodes
            assert name in {"web", "up"} or not mine
            inspected.add(name)
    assert inspected >= MEMBERS
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        if line.split()[3] == "0A" and int(line.split()[1].split(":")[1], 16) == port:
            assert line.split()[1].startswith("0100007F:"), "loopback alone"


@as_root
def test_only_the_work_worker_is_root(bench, stack):
    users = {
        member["name"]: pwd.getpwuid(Path(f"/proc/{member['pid']}").stat().st_uid).pw_name
        for member in stack["processes"]
    }
    assert users.pop("work") == "root"
    assert set(users.values()) == {accounts.service_account(None).name}
    assert {member["name"]: member["user"] for member in stack["processes"]} == {**users, "work": "root"}


def test_each_process_has_a_session_of_its_own(bench, stack):
    assert [member["pid"] for member in stack["processes"]] == [os.getsid(m["pid"]) for m in stack["processes"]]


def test_no_secret_stands_in_a_command_line_or_log(bench, stack):
    secrets = [path.read_text().strip() for path in bench.layout.secrets.iterdir()]
    lines = []
    for identity in processes.writers_of(bench.layout.logs):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            lines.append(Path(f"/proc/{identity.pid}/cmdline").read_text())
    logs = [log.read_text() for log in bench.layout.logs.iterdir()]
    assert len(secrets) > 8
    assert len(lines) >= len(MEMBERS)
    assert not [secret for secret in secrets for text in [*lines, *logs] if secret in text]


def test_the_first_start_makes_a_private_password_and_a_token_that_works(bench, stack):
    assert stat.S_IMODE((bench.layout.secrets / "admin_password").stat().st_mode) == 0o600
    ctl = json.loads((bench.layout.root / "ctl.json").read_text())
    assert ctl["url"] == stack["url"]
    token = Path(ctl["token_file"]).read_text().strip()
    assert get(f"{stack['url']}/api/v1/jobs", token) == 200
    assert get(f"{stack['url']}/api/v1/jobs") == 401


def test_a_second_up_names_the_live_owner_and_leaves_it_alone(bench, stack):
    for words in (("up", "--port", "0"), ("up", "-d", "--port", "0")):
        done = bench.run(*words)
        assert done.returncode == 1
        assert str(stack["pid"]) in done.stderr
        assert stack["url"] in done.stderr
    assert bench.status()["processes"] == stack["processes"]


def test_a_process_that_dies_is_started_again_and_no_connection_is_refused(bench, stack):
    old = bench.member("web")
    os.kill(old["pid"], signal.SIGKILL)
    assert eventually(lambda: bench.member("web")["restarts"] == 1)
    assert get(f"{stack['url']}/health/live") == 200
    assert bench.member("web")["pid"] != old["pid"]
    assert "ended" in bench.member("web")["last_exit"]


def test_a_killed_postgresql_comes_back_with_its_data(bench, stack):
    os.kill(bench.member("postgres")["pid"], signal.SIGKILL)
    assert eventually(lambda: bench.member("postgres")["restarts"] == 1)
    token = (bench.layout.secrets / "ctl_token").read_text().strip()
    assert eventually(lambda: get(f"{stack['url']}/api/v1/jobs", token) == 200)


def test_a_broker_that_holds_still_makes_web_unready_not_silent(bench, stack):
    """1.18: Valkey stopped (SIGSTOP): requests go on within seconds."""
    pid, token = bench.member("valkey")["pid"], (bench.layout.secrets / "ctl_token").read_text().strip()
    os.kill(pid, signal.SIGSTOP)
    try:
        assert get(f"{stack['url']}/health/ready") == 503
        assert get(f"{stack['url']}/api/v1/jobs", token) == 200
    finally:
        os.kill(pid, signal.SIGCONT)
    assert eventually(lambda: get(f"{stack['url']}/health/ready") == 200)


def test_logs_show_one_process_or_all(bench, stack):
    assert "database system is ready" in bench.run("logs", "postgres", "--lines", "1000").stdout
    assert "postgres  " in bench.run("logs").stdout
    done = bench.run("logs", "wbe")
    assert done.returncode == 1
    assert "web" in done.stderr


def test_a_killed_starter_then_up_again_with_tls_then_ctrl_c(bench, stack, tmp_path):
    """1.3: a crash of the starter is survived; design: Ctrl-C stops everything, exit 0, the next `up` goes on."""
    cert, key = certificate(tmp_path)
    before = bench.status()
    os.kill(before["pid"], signal.SIGKILL)
    assert eventually(lambda: not bench.status()["running"])
    assert {member["name"] for member in bench.status()["processes"]} == MEMBERS
    secret = (bench.layout.secrets / "secret_keys").read_text()
    valkey = next(member for member in before["processes"] if member["name"] == "valkey")
    os.kill(valkey["pid"], signal.SIGSTOP)
    starter = subprocess.Popen(
        bench.argv("up", "--port", "0", "--tls-cert", str(cert), "--tls-key", str(key)),
        env=bench.variables,
        cwd="/",
        stdout=subprocess.PIPE,
        text=True,
    )
    assert starter.stdout is not None
    assert "earlier start left" in starter.stdout.readline()
    assert "Syncova runs on https://127.0.0.1:" in starter.stdout.readline()
    assert not {member["pid"] for member in before["processes"]} & {m["pid"] for m in bench.status()["processes"]}
    token = (bench.layout.secrets / "ctl_token").read_text().strip()
    assert get(f"{bench.status()['url']}/api/v1/jobs", token) == 200
    assert (bench.layout.secrets / "secret_keys").read_text() == secret
    os.kill(bench.member("valkey")["pid"], signal.SIGSTOP)
    starter.send_signal(signal.SIGINT)
    assert starter.wait(40) == 0
    assert processes.writers_of(bench.layout.logs) == []
    assert bench.status()["phase"] == "stopped"
    assert bench.run("status").returncode == 1


def test_down_with_nothing_running_says_so(bench, stack):
    done = bench.run("down")
    assert done.returncode == 0
    assert "Nothing runs" in done.stdout


def test_interrupting_the_start_leaves_nothing(bench, stack):
    starter = subprocess.Popen(bench.argv("up", "--port", "0"), env=bench.variables, cwd="/", stdout=subprocess.PIPE)
    assert eventually(lambda: bench.layout.log("postgres").exists() and bench.status()["running"])
    starter.send_signal(signal.SIGTERM)
    assert starter.wait(40) == 0
    assert processes.writers_of(bench.layout.logs) == []


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
    assert "SYNCOVA_TICK_SECONDS" in done.stderr


def test_servers_that_the_environment_names_are_used_and_none_is_started(bench, stack, postgres_server, valkey_url):
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


@as_root
def test_an_ordinary_user_runs_the_stack_and_owns_all_of_it(bench, stack, session_directory):
    account = accounts.service_account(None)
    home = session_directory / "home"
    home.mkdir(mode=0o700)
    os.chown(home, account.uid, account.gid)
    interpreter = interpreter_for(account, bench.layout.programs)
    for directory in (bench.layout.root, session_directory):
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
