"""`up`, `status`, `down` and `logs` as processes: the whole stack on its own servers (1.4, 1.17, 1.18)."""

import contextlib
import json
import os
import pwd
import signal
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from syncova_project.embedded import accounts, processes, responses
from tests.embedded.sockets import listening_inodes, socket_inodes
from tests.embedded.stack import MEMBERS, certificate, eventually, get
from tests.private_servers import as_root

DATA = "stack"


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
    assert "ended with SIGKILL" in bench.member("web")["last_exit"]


def test_a_killed_postgresql_comes_back_with_its_data(bench, stack):
    os.kill(bench.member("postgres")["pid"], signal.SIGKILL)
    assert eventually(lambda: bench.member("postgres")["restarts"] == 1)
    token = (bench.layout.secrets / "ctl_token").read_text().strip()
    assert eventually(lambda: get(f"{stack['url']}/api/v1/jobs", token) == 200)


def at_once(*looks):
    """Return what each returns: each waits its seconds for a server that holds still."""
    with ThreadPoolExecutor(len(looks)) as pool:
        return [each.result() for each in [pool.submit(look) for look in looks]]


def test_a_broker_that_holds_still_makes_web_unready_not_silent(bench, stack):
    """1.18: Valkey stopped (SIGSTOP): requests go on within seconds."""
    pid, token = bench.member("valkey")["pid"], (bench.layout.secrets / "ctl_token").read_text().strip()
    os.kill(pid, signal.SIGSTOP)
    try:
        ready, listed, member, status = at_once(
            lambda: get(f"{stack['url']}/health/ready"),
            lambda: get(f"{stack['url']}/api/v1/jobs", token),
            lambda: bench.member("valkey"),
            lambda: bench.run("status"),
        )
        assert (ready, listed) == (503, 200)
        assert "stopped by a signal" in member["problem"]
        assert status.stdout.startswith("Impaired: ")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert eventually(lambda: get(f"{stack['url']}/health/ready") == 200)


def test_a_database_that_holds_still_is_told_within_seconds(bench, stack):
    """A process that lives is none that works: web says 503, `status` which one it is."""
    pid = bench.member("postgres")["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        ready, member, answers, status = at_once(
            lambda: get(f"{stack['url']}/health/ready"),
            lambda: bench.member("postgres"),
            lambda: responses.postgres_answers(bench.layout),
            lambda: bench.run("status"),
        )
        assert (ready, answers, status.returncode) == (503, False, 1)
        assert "stopped by a signal" in member["problem"]
    finally:
        os.kill(pid, signal.SIGCONT)
    assert eventually(lambda: bench.status()["phase"] == "ready")
    assert responses.postgres_answers(bench.layout)


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
    assert "`./syncova down` stops it" in bench.run("status").stdout.splitlines()[0]
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
