"""./syncova ctl end to end: register, make a job, run it, look, pause, delete; also what it says when it cannot."""

import base64
import json
import os
import subprocess
import sys
import uuid
from typing import Any

import pytest

from jobs.models import Job, Run
from tests import canaries
from tests.ctl import worker
from tests.ctl.conftest import Ctl

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def vault(ctl: Ctl) -> None:
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0


def test_from_nothing_to_a_backup(ctl: Ctl) -> None:
    """The way of the quickstart, every answer as JSON."""
    registered = ctl("repository", "register", "vault", "/srv/vault", "--json")
    assert (registered.code, registered.json["state"], registered.json["accepts_backups"]) == (0, "active", True)
    made = ctl("job", "create", "home", "--source", "/home", "--repository", "VAULT", "--daily", "02:00", "--json")
    assert (made.code, made.json["schedule_description"]) == (0, "daily at 02:00 (UTC)")
    ran = ctl("job", "run", "home", "--wait", "--json")
    assert (ran.code, ran.json["state"], ran.json["sources"][0]["state"]) == (0, "succeeded", "succeeded")
    listed = ctl("run", "list", "--job", "home", "--json").json["runs"]
    assert [run["id"] for run in listed] == [ran.json["id"]]
    status = ctl("status", "--json").json
    assert status["jobs"][0]["last_succeeded_at"] == ran.json["finished_at"]
    assert (status["running"], status["waiting"], len(status["repositories"])) == ([], [], 1)


@pytest.mark.usefixtures("vault")
def test_what_people_read(ctl: Ctl) -> None:
    created = ctl("job", "create", "home", "--source", "/home", "-r", "vault", "--every", "6h", "--exclude", "*.tmp")
    assert "every 6 hours" in created.out
    ran = ctl("job", "run", "home", "--wait")
    assert "✓ succeeded" in ran.out
    assert "1 file, 2.00 KiB, 0 skipped, 0 warnings" in ran.out
    shown = ctl("job", "show", "home").out
    for text in ("/home", "*.tmp", "vault", "✓ succeeded", "every 6 hours"):
        assert text in shown
    assert "✓ succeeded" in ctl("job", "list").out
    status = ctl("status").out
    assert "LAST GOOD BACKUP" in status
    assert "home" in status


@pytest.mark.usefixtures("vault")
def test_something_skipped_is_exit_3_with_its_reason(ctl: Ctl) -> None:
    ctl("job", "create", "part", "--source", worker.SKIPPED_PATH, "-r", "vault")
    ran = ctl("job", "run", "part", "--wait")
    assert ran.code == 3
    assert "1 object skipped: no read permission." in ran.out
    assert "PARTIAL" not in ran.err


@pytest.mark.usefixtures("vault")
def test_what_waits_is_told_with_the_reason(ctl: Ctl, plan: worker.Plan) -> None:
    """C3."""
    plan.executes = False
    for name in ("one", "two"):
        ctl("job", "create", name, "--source", f"/{name}", "-r", "vault")
        assert ctl("job", "run", name).code == 0
    waiting = ctl("status", "--json").json["waiting"]
    assert [run["phase"] for run in waiting] == ["admitted", "waiting"]
    assert waiting[1]["held"]["sentence"] == "Waits for the repository vault: 1 of 1 runs."
    assert "Waits for the repository vault: 1 of 1 runs." in ctl("status").out
    assert "Waits for the repository vault" in ctl("run", "list").out
    busy = ctl("job", "run", "one", "--json")
    assert (busy.code, busy.json["error"]["code"]) == (1, "JOB_ACTIVE")
    cancelled = ctl("run", "cancel", waiting[1]["id"], "--json")
    assert (cancelled.code, cancelled.json["state"]) == (0, "cancelled")
    again = ctl("run", "cancel", waiting[1]["id"], "--json")
    assert (again.code, again.json["error"]["code"]) == (1, "RUN_FINISHED")


@pytest.mark.usefixtures("vault")
def test_a_new_root_is_accepted_for_one_run(ctl: Ctl, plan: worker.Plan) -> None:
    """2.6: it reaches the executor, and the run's page says who confirmed it."""
    ctl("job", "create", "home", "--source", "/home", "-r", "vault")
    accepted = ctl("job", "run", "home", "--accept-new-root", "--wait")
    plain = ctl("job", "run", "home", "--wait")
    assert [request.accept_new_root for request in plan.requests] == [True, False]
    assert "what its sources hold now, by" in accepted.out
    assert "confirmed" not in plain.out


@pytest.mark.usefixtures("vault")
def test_pause_resume_and_delete(ctl: Ctl) -> None:
    ctl("job", "create", "home", "--source", "/home", "-r", "vault", "--daily", "02:00")
    assert ctl("job", "pause", "home", "--json").json["status"] == "paused"
    refused = ctl("job", "run", "home", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "JOB_PAUSED")
    assert ctl("job", "list", "--paused", "--json").json["jobs"][0]["name"] == "home"
    assert ctl("job", "resume", "home", "--json").json["next_run_at"] is not None
    unsure = ctl("job", "delete", "home", "--json")
    assert (unsure.code, Job.objects.filter(deleted_at=None).count()) == (2, 1)
    assert "--yes" in unsure.json["error"]["hint"]
    assert ctl("job", "delete", "home", "--yes", "--json").json["deleted"] is True
    assert ctl("job", "list").out == "no jobs\n"
    assert ctl("job", "show", "home", "--json").json["error"]["code"] == "NAME_UNKNOWN"


@pytest.mark.usefixtures("vault")
def test_the_log_is_told_line_by_line_and_harmless(ctl: Ctl) -> None:
    ctl("job", "create", "home", "--source", "/home", "-r", "vault")
    run_id = ctl("job", "run", "home", "--json").json["id"]
    log = ctl("run", "log", run_id)
    assert (log.code, "\x1b" in log.out) == (0, False)
    assert log.out.endswith("info  read\\x1b[31m one file\n")
    assert ctl("run", "log", run_id, "--json").json["lines"][0]["message"] == "read\x1b[31m one file"
    shown = ctl("run", "show", run_id)
    assert "✓ succeeded, backup run-" in shown.out


def test_a_wrong_password_is_exit_12_and_can_be_mended(ctl: Ctl, plan: worker.Plan) -> None:
    plan.opening = worker.has_wrong_password
    failed = ctl("repository", "register", "vault", "/srv/vault", "--json")
    assert (failed.code, failed.json["error"]["code"]) == (12, "WRONG_PASSWORD")
    assert "no: It could not be opened: No key slot opens." in ctl("repository", "list").out
    plan.opening = worker.opens
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0
    taken = ctl("repository", "register", "Vault", "/srv/other", "--json")
    assert (taken.code, taken.json["error"]["code"]) == (1, "REPOSITORY_NAME_TAKEN")


def test_with_no_worker_it_says_so(ctl: Ctl, plan: worker.Plan) -> None:
    plan.opening = None
    late = ctl("repository", "register", "vault", "/srv/vault", "--wait", "1", "--json")
    assert (late.code, late.json["error"]["code"]) == (1, "REPOSITORY_NOT_OPENED")
    assert ctl("repository", "register", "other", "/srv/other", "--wait", "0").code == 0
    assert "a worker of group" in ctl("status").out


@pytest.mark.usefixtures("vault")
def test_a_frozen_repository_holds_its_jobs_until_it_is_cleared(ctl: Ctl) -> None:
    """G1, C3."""
    ctl("job", "create", "home", "--source", "/home", "-r", "vault")
    assert ctl("repository", "freeze", "vault", "--json").json["error"]["code"] == "USAGE"
    assert ctl("repository", "freeze", "vault", "--reason", "noises").code == 0
    assert ctl("job", "run", "home").code == 0
    status = ctl("status").out
    assert "repository vault takes no backups: It is frozen since" in status
    assert "Waits because the repository vault is frozen: noises" in status
    assert "takes backups  yes" in ctl("repository", "unfreeze", "vault").out
    # Clearing asks for a pass at once, and the worker of these tests executes within it.
    assert ctl("run", "list", "--json").json["runs"][0]["state"] == "succeeded"


@pytest.mark.usefixtures("vault")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--every", "6h", "--daily", "02:00"], "USAGE"),
        (["--every", "soon"], "USAGE"),
        (["--every", "6h", "--time-zone", "UTC"], "USAGE"),
        (["--time-zone", "UTC"], "USAGE"),
        (["--hourly", "x"], "USAGE"),
        (["--weekly", "sat"], "USAGE"),
        (["--weekly", "sat@25:00"], "USAGE"),
        (["--monthly", "first@02:00"], "USAGE"),
        (["--hourly", "60"], "VALIDATION_FAILED"),
        (["--weekly", "samstag@02:00"], "USAGE"),
        (["--monthly", "0@02:00"], "VALIDATION_FAILED"),
        (["--cron", "0 0 30 2 *"], "VALIDATION_FAILED"),
        (["--bandwidth", "fast"], "CONFIGURATION"),
        (["--no-such-option"], "USAGE"),
        (["--daily", "25:00"], "VALIDATION_FAILED"),
        (["--max-attempts", "99"], "VALIDATION_FAILED"),
    ],
)
def test_wrong_options_say_what_is_wrong(ctl: Ctl, words: list[str], code: str) -> None:
    refused = ctl("job", "create", "x", "--source", "/x", "-r", "vault", *words, "--json")
    assert refused.json["error"]["code"] == code, refused.json
    assert refused.code == 2
    assert refused.err.startswith("error: ")
    assert not Job.objects.exists()


@pytest.mark.usefixtures("vault")
def test_every_option_of_a_job_reaches_the_server(ctl: Ctl) -> None:
    words = ["--daily", "02:30", "--time-zone", "Europe/Berlin", "--priority", "high", "--bandwidth", "50MB"]
    made = ctl(
        *("job", "create", "x", "--source", "/x", "--source", "/y", "-r", "vault", "--exclude", "*.tmp"),
        *(*words, "--max-attempts", "5", "--strict", "--rpo", "26h", "--json"),
    ).json
    assert made["schedule_description"] == "daily at 02:30 (Europe/Berlin)"
    assert (made["priority"], made["bandwidth_limit_bps"], made["max_attempts"]) == ("high", 52428800, 5)
    assert (made["strict"], made["rpo_seconds"]) == (True, 26 * 3600)
    assert "planned starts at most 26 h 00 min apart" in ctl("job", "show", "x").out
    assert [(one["path"], one["exclude_patterns"]) for one in made["sources"]] == [("/x", ["*.tmp"]), ("/y", ["*.tmp"])]


@pytest.mark.usefixtures("vault")
def test_hostile_names_are_harmless_on_a_terminal_and_exact_in_json(ctl: Ctl) -> None:
    name, path = "a\x1b[31m\u202e<b>[/b]\nx", b"/srv/\xff\x1b[2J"
    words = ["job", "create", "plain", "--source", os.fsdecode(path), "-r", "vault"]
    assert ctl(*words).code == 0
    # A name from before names were judged.
    Job.objects.update(name=name)
    for result in (ctl("job", "list"), ctl("job", "show", name), ctl("status"), ctl("job", "run", name)):
        assert result.code == 0, result.err
        assert not any(character in result.out + result.err for character in "\x1b\u202e\udcff")
    shown = ctl("job", "show", name, "--json").json
    assert shown["name"] == name
    assert base64.b64decode(shown["sources"][0]["path_base64"]) == path


def test_unknown_names_and_ids_are_told(ctl: Ctl) -> None:
    for words in (
        ["job", "show", "nothing"],
        ["run", "show", "not-an-id"],
        ["job", "create", "x", "--source", "/x", "-r", "nothing"],
    ):
        refused = ctl(*words, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (1, "NAME_UNKNOWN")
    gone = ctl("run", "show", str(uuid.uuid4()), "--json")
    assert (gone.code, gone.json["error"]["code"]) == (1, "RUN_NOT_FOUND")
    assert ctl("job", "show", str(uuid.uuid4()), "--json").json["error"]["code"] == "JOB_NOT_FOUND"


def test_a_wrong_token_is_told_without_showing_it(ctl: Ctl, monkeypatch: Any) -> None:
    monkeypatch.delenv("SYNCOVA_TOKEN_FILE")
    monkeypatch.setenv("SYNCOVA_TOKEN", "syncova_canary")
    refused = ctl("status", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "UNAUTHENTICATED")
    assert "canary" not in refused.out + refused.err


def test_the_password_is_no_argument_and_in_no_output(ctl: Ctl, plan: worker.Plan) -> None:
    plan.opening = worker.has_wrong_password
    result = ctl("repository", "register", "vault", "/srv/vault", "-v")
    assert canaries.repository_password("ctl") not in result.out + result.err
    assert "password=" not in ctl("repository", "register", "--help").out


@pytest.mark.usefixtures("vault")
def test_lists_longer_than_a_page_are_read_to_their_end(ctl: Ctl) -> None:
    ctl("job", "create", "home", "--source", "/home", "-r", "vault")
    for _ in range(5):
        ctl("job", "run", "home")
    ids = list(Run.objects.order_by("-id").values_list("id", flat=True))
    listed = ctl("run", "list", "--limit", "3", "--json").json["runs"]
    assert [run["id"] for run in listed] == [str(run_id) for run_id in ids[:3]]


def test_the_program_itself_speaks_to_the_server(ctl: Ctl) -> None:
    command = [sys.executable, "-m", "jobs.ctl", "repository", "list", "--json"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert json.loads(finished.stdout) == {"repositories": []}


@pytest.mark.usefixtures("vault")
def test_a_name_that_differs_by_case_alone_names_the_one_that_is_there(ctl: Ctl) -> None:
    ctl("job", "create", "home", "--source", "/home", "-r", "vault")
    refused = ctl("job", "create", "HOME", "--source", "/home", "-r", "vault")
    assert (refused.code, "a job named 'home'" in refused.err) == (1, True)
    assert "--help" not in refused.err
    again = ctl("repository", "register", "VAULT", "/srv/other")
    assert "a repository named 'vault' already" in again.err


@pytest.mark.usefixtures("vault")
def test_a_run_that_waits_for_the_next_pass_says_so_at_once(ctl: Ctl, settings: Any) -> None:
    """C3."""
    settings.SYNCOVA_WAKE = "tests.ctl.worker.sleeps"
    ctl("job", "create", "home", "--source", "/home", "-r", "vault")
    for words in (("job", "run", "home"), ("status",), ("run", "list")):
        assert "Waits for the scheduler's next pass." in ctl(*words).out
