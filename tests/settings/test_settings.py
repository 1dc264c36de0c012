"""Settings as a process sees them: refused combinations, origins, masks, and the page made from them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.core.management import call_command

from syncova_project import checks, setting_docs
from syncova_project.connection_urls import database_settings, socket_database_url
from syncova_project.derived import hosts_and_origins, is_loopback_url, rhythm_problem, seal_keys
from syncova_project.errors import ConfigurationError
from syncova_project.setting_table import TABLE

ROOT = Path(__file__).resolve().parents[2]


def manage(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_docs_settings_md_is_in_step_with_the_readers():
    assert (ROOT / "docs" / "settings.md").read_text() == setting_docs.render(), (
        "run: ./syncova manage show_settings --markdown > docs/settings.md"
    )


def test_no_secret_has_a_default():
    assert [setting.name for setting in TABLE if setting.secret and setting.default is not None] == []


def test_an_orphan_limit_below_three_heartbeats_starts_nothing():
    """A15: a limit not well above the interval is refused at start."""
    done = manage("check", SYNCOVA_HEARTBEAT_SECONDS="30", SYNCOVA_ORPHAN_SECONDS="89")
    assert done.returncode != 0
    assert "SYNCOVA_ORPHAN_SECONDS is 89" in done.stderr


@pytest.mark.parametrize(
    ("tick", "heartbeat", "orphan", "named"),
    [
        (10, 30, 90, None),
        (10, 30, 89, "SYNCOVA_ORPHAN_SECONDS"),
        (1, 1, 3, None),
        (30, 30, 90, None),
        (31, 30, 90, "SYNCOVA_TICK_SECONDS"),
    ],
)
def test_tick_heartbeat_and_orphan_limit_must_fit_each_other(tick, heartbeat, orphan, named):
    problem = rhythm_problem(tick=tick, heartbeat=heartbeat, orphan=orphan)
    assert (problem is None) if named is None else (problem is not None and problem.message.startswith(named))


def test_that_rule_is_a_system_check(settings):
    settings.SYNCOVA_ORPHAN_SECONDS = 1
    assert "syncova.E001" in {message.id for message in run_checks(tags=["syncova"])}


def test_a_server_without_its_secrets_and_addresses_is_refused(settings, monkeypatch):
    settings.SECRET_KEY = ""
    settings.SYNCOVA_SECRET_KEYS = []
    settings.SYNCOVA_BROKER_URL = ""
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", "")
    found = {message.id for message in checks.missing(None)}
    assert found == {"syncova.E002", "syncova.E003", "syncova.E004", "syncova.E005"}


def test_a_server_with_everything_passes(settings, monkeypatch):
    settings.SYNCOVA_BROKER_URL = "redis://x"
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", "x")
    assert checks.missing(None) == []
    assert checks.risky(None) == []


def test_what_weakens_a_server_is_warned_about(settings):
    settings.SYNCOVA_ALLOW_UNENCRYPTED = True
    settings.SYNCOVA_PUBLIC_URL = "http://backup.example.org"
    assert {message.id for message in checks.risky(None)} == {"syncova.W002", "syncova.W003"}


def test_show_settings_masks_secrets_and_names_origins(capsys, monkeypatch):
    monkeypatch.setenv("SYNCOVA_DJANGO_KEY", "hunter2" * 8)
    monkeypatch.setenv("SYNCOVA_TICK_SECONDS", "7")
    call_command("show_settings", "--json")
    output = capsys.readouterr().out
    rows = {row["name"]: row for row in json.loads(output)["settings"]}
    assert "hunter2" not in output
    assert rows["SYNCOVA_DJANGO_KEY"] == {
        "name": "SYNCOVA_DJANGO_KEY",
        "value": "********",
        "origin": "environment",
    }
    assert rows["SYNCOVA_TICK_SECONDS"]["value"] == "7"
    assert rows["SYNCOVA_HEARTBEAT_SECONDS"] == {
        "name": "SYNCOVA_HEARTBEAT_SECONDS",
        "value": "30",
        "origin": "default",
    }
    assert set(rows) == {setting.name for setting in TABLE}


def test_show_settings_for_people_never_breaks_a_line(capsys, monkeypatch):
    monkeypatch.setenv("SYNCOVA_URL", "http://a\nSYNCOVA_FORGED  1\x1b[31m")
    call_command("show_settings")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(TABLE)
    assert not any("\x1b" in line for line in lines)


def test_commands_that_need_no_server_run_without_any_setting():
    done = manage("show_settings", "--json", SYNCOVA_SETTINGS_FILE="/dev/null", SYNCOVA_DATA_DIR="/nowhere")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["settings"]


def test_a_database_behind_a_socket_and_one_on_a_host():
    url = socket_database_url(user="alice", password="p@ss/wörd:%", name="data", directory=Path("/run/a b"))
    read = database_settings(url)
    assert (read["USER"], read["PASSWORD"], read["NAME"], read["HOST"]) == ("alice", "p@ss/wörd:%", "data", "/run/a b")
    read = database_settings("postgres://bob:x@db.example.org:6543/data?sslmode=require")
    assert (read["HOST"], read["PORT"], read["OPTIONS"]["sslmode"]) == ("db.example.org", "6543", "require")


@pytest.mark.parametrize("url", ["mysql://a/b", "postgresql://host", "nonsense"])
def test_a_wrong_database_address_is_refused_without_quoting_it(url):
    with pytest.raises(ConfigurationError) as caught:
        database_settings(url)
    assert "SYNCOVA_DATABASE_URL" in str(caught.value)


def test_hosts_and_origins_follow_from_the_public_address():
    hosts, origins = hosts_and_origins("https://backup.example.org:8443")
    assert hosts[0] == "backup.example.org"
    assert origins == ["https://backup.example.org:8443"]
    assert "127.0.0.1" in hosts


@pytest.mark.parametrize("url", ["ftp://x", "https://", "https://x/path", "x"])
def test_a_wrong_public_address_is_refused(url):
    with pytest.raises(ConfigurationError, match="SYNCOVA_PUBLIC_URL"):
        hosts_and_origins(url)


def test_loopback():
    assert is_loopback_url("http://127.0.0.1:8760")
    assert is_loopback_url("http://localhost")
    assert is_loopback_url("http://[::1]:1")
    assert not is_loopback_url("http://backup.example.org")


def test_sealing_keys_are_32_bytes_each_and_never_quoted():
    assert seal_keys(["00" * 32, "ff" * 32]) == [bytes(32), b"\xff" * 32]
    with pytest.raises(ConfigurationError, match="key 2") as caught:
        seal_keys(["00" * 32, "secret"])
    assert "secret" not in str(caught.value)


def test_an_https_address_leaves_the_deployment_check_nothing_to_say():
    """7.8: cookies over TLS alone, HSTS, no debug pages; what is silenced says why in the settings."""
    done = manage(
        "check",
        "--deploy",
        "--fail-level",
        "WARNING",
        SYNCOVA_PUBLIC_URL="https://backup.example.org",
        SYNCOVA_DJANGO_KEY="".join(f"{number:02x}" for number in range(7, 47)),
        SYNCOVA_SECRET_KEYS="5c" * 32,
        SYNCOVA_DATABASE_URL="postgresql://user:password@127.0.0.1:1/name",
        SYNCOVA_BROKER_URL="redis://127.0.0.1:1/0",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "no issues" in done.stdout


@pytest.mark.parametrize(
    ("address", "found"),
    [("https://backup.example.org", []), ("http://backup.example.org", ["security.W004", "security.W012"])],
)
def test_what_tls_brings_follows_from_the_address(address, found):
    program = (
        "import django; django.setup(); from django.core.checks.security import base, csrf, sessions\n"
        "rules = [base.check_sts, csrf.check_csrf_cookie_secure, sessions.check_session_cookie_secure]\n"
        "print([one.id for rule in rules for one in rule(None)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "syncova_project.settings", "SYNCOVA_PUBLIC_URL": address},
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(identifier in done.stdout for identifier in found)
    assert (done.stdout.strip() == "[]") == (not found)
