"""Runs as people read them: retries, what was skipped, what was found, progress, silence and the log."""

import datetime as dt
import re
from collections.abc import Iterator
from typing import Any

import pytest

from jobs.conclusion import conclude
from jobs.ctl import run_end
from jobs.ctl.run_page import tell_run
from jobs.database_time import database_now
from jobs.executors import ExecutionResult, Failure, SourceResult
from jobs.models import Run, TaskRun
from jobs.reconciling import tell_gone
from jobs.sentences import reason_sentence
from jobs.states import CancelOrigin, FailureClass, TaskState
from repositories.console.failures import Interrupted
from repositories.console.terminal import Terminal
from repositories.freezing import repository_freeze
from tests.api.builders import start
from tests.ctl import worker
from tests.ctl.conftest import Ctl
from tests.repositories.builders import make_backup

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job(ctl: Ctl) -> str:
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0
    assert ctl("job", "create", "home", "--source", "/home", "-r", "vault").code == 0
    return "home"


@pytest.fixture
def running(ctl: Ctl, plan: worker.Plan, job: str) -> Run:
    """A run that a worker has taken and not ended."""
    plan.executes = False
    run = Run.objects.get(id=ctl("job", "run", job, "--json").json["id"])
    Run.objects.filter(id=run.id).update(admitted_at=None, fence=None, revision=None)
    start(run)
    return run


def test_a_waiting_retry_is_told_wherever_the_run_is_told(ctl: Ctl, running: Run) -> None:
    failure = Failure("SOURCE_MISSING", "/home is missing", FailureClass.SOURCE)
    fence = Run.objects.get(id=running.id).fence
    assert fence
    assert conclude(running.id, fence, ExecutionResult(failure=failure), now=database_now())
    retry = Run.objects.get(origin_run=running)
    told = re.compile(r"Waits: attempt 2 of 3 starts at \S+ \d\d:\d\d:\d\d UTC, after SOURCE_MISSING")
    for words in (["run", "list"], ["run", "show", str(retry.id)], ["job", "show", "home"], ["status"]):
        assert told.search(ctl(*words).out), words
    first = ctl("run", "show", str(running.id)).out
    assert f"attempt 2 is run {retry.id}" in first
    assert told.search(first)
    busy = ctl("job", "run", "home")
    assert str(retry.id) in busy.err
    assert told.search(busy.err)


def test_the_next_step_is_told_wherever_a_refusal_is_told(ctl: Ctl, running: Run) -> None:
    """2.6: in the list, and on the run's page for the run and for a source whose step is another."""
    failure = Failure("SOURCE_EMPTY", "/home is empty.", FailureClass.CONFIGURATION, hint="Confirm it once.")
    fence = Run.objects.get(id=running.id).fence
    assert fence
    assert conclude(running.id, fence, ExecutionResult(failure=failure), now=database_now())
    assert "/home is empty. Confirm it once." in ctl("run", "list").out
    shown = ctl("run", "show", str(running.id)).out
    assert re.search(r"hint +Confirm it once\.", shown)
    tasks = TaskRun.objects.filter(run_id=running.id)
    tasks.update(state="failed", failure_class="source", error_code="SOURCE_UNMOUNTED", error_message="not mounted")
    tasks.update(error_hint="Mount it.")
    shown = ctl("run", "show", str(running.id)).out
    assert re.search(r"/home: ✗ failed: not mounted\s+hint +Mount it\.", shown)


@pytest.mark.parametrize("sources", [0, 1])
def test_a_hook_that_skips_is_named_with_its_exit_code(ctl: Ctl, running: Run, sources: int) -> None:
    """6.4: on the run's page and in the list, whether it spoke for the job or for all of its sources."""
    moment = "the source /home" if sources else "the job"
    said = f"The hook not-now (before {moment}) ended with exit code 75: skip."
    (task,) = TaskRun.objects.filter(run_id=running.id)
    left_out = SourceResult(task.id, TaskState.SKIPPED, failure=Failure("HOOK_SKIPPED", said, FailureClass.HOOK))
    by_job = ExecutionResult(cancelled=CancelOrigin.HOOK, parameters={"hook": said})
    fence = Run.objects.get(id=running.id).fence
    assert fence
    assert conclude(running.id, fence, ExecutionResult(sources=(left_out,)) if sources else by_job, now=database_now())
    shown = ctl("run", "show", str(running.id)).out
    assert re.search(rf"result +Not run: there is nothing to do now\. {re.escape(said)}\n", shown)
    assert (f"/home: ○ skipped: {said}" in shown) is bool(sources)
    assert said in ctl("run", "list").out
    assert ctl("run", "show", str(running.id), "--json").json["reason"].endswith(said)


def test_where_hooks_skip_every_source_their_number_is_told() -> None:
    """Runs of earlier versions have no more than their log."""
    told = {"hook": "The hook x (before the source /a) ended with exit code 50.", "sources": 2}
    run = Run(state="cancelled", cancel_origin="hook", reason_parameters=told)
    sentence = "Not run: for each of its 2 sources a hook said that there is nothing to do now."
    assert reason_sentence(run) == f"{sentence} {told['hook']}"
    run.reason_parameters = {}
    assert "the log names it" in reason_sentence(run)


@pytest.mark.usefixtures("job")
def test_waiting_for_a_first_attempt_that_fails_tells_of_the_second(ctl: Ctl, running: Run, capsys: Any) -> None:
    class Server:
        def get(self, _path: str) -> Any:
            failure = Failure("SOURCE_MISSING", "/home is missing", FailureClass.SOURCE)
            fence = Run.objects.get(id=running.id).fence
            assert fence
            conclude(running.id, fence, ExecutionResult(failure=failure), now=database_now())
            return ctl("run", "show", str(running.id), "--json").json

    run_end.await_end(Server(), {"id": str(running.id)}, Terminal())  # type: ignore[arg-type]
    assert "this attempt has ended; attempt 2 is run" in capsys.readouterr().err


def test_the_skipped_are_named_with_their_reasons(ctl: Ctl, job: str) -> None:
    """A11: the first ten, the gravest first."""
    run_id = ctl("job", "run", job, "--json").json["id"]
    problems = [{"severity": "note", "code": "gone", "path": "vanished", "message": ""}]
    problems += [
        {"severity": "skipped", "code": "permission", "path": f"secret/{n}", "message": "no read permission"}
        for n in range(12)
    ]
    tasks = TaskRun.objects.filter(run_id=run_id)
    tasks.update(state="partial_failure", problems=problems, skipped=12, notes=1)
    shown = ctl("run", "show", run_id).out
    assert shown.count(": no read permission") == 10
    assert "secret/0: no read permission" in shown
    assert "vanished" not in shown
    assert re.search(r"more +3; ", shown)
    tasks.update(problems=problems[:1], skipped=0)
    assert "vanished: gone" in ctl("run", "show", run_id).out


def test_a_swapped_repository_is_told_with_the_run_that_found_it(ctl: Ctl, job: str) -> None:
    """A10."""
    run = Run.objects.get(id=ctl("job", "run", job, "--json").json["id"])
    repository_freeze(repository_id=run.repository_id, reason="It was swapped.", run_id=run.id, now=database_now())
    assert re.search(r"found +It was swapped\.", ctl("run", "show", str(run.id)).out)


def test_a_backup_that_is_gone_is_told_as_gone_until_it_is_back(ctl: Ctl, job: str) -> None:
    run = Run.objects.get(id=ctl("job", "run", job, "--json").json["id"])
    TaskRun.objects.filter(run=run).update(backup_id="b1", state="succeeded")
    seen = database_now()
    assert "no longer" not in ctl("run", "show", str(run.id)).out
    tell_gone(repository_id=run.repository_id, gone=[("b1", run.id), ("b2", None)], now=seen)
    shown = ctl("run", "show", str(run.id)).out
    assert f"backup b1, which the repository holds no longer: seen at {seen:%Y-%m-%d %H:%M:%S} UTC" in shown
    (source,) = ctl("run", "show", str(run.id), "--json").json["sources"]
    assert (source["backup_id"], dt.datetime.fromisoformat(source["backup_gone_at"])) == ("b1", seen)
    make_backup(run.repository, backup_id="b1", run_id=run.id)
    assert "no longer" not in ctl("run", "show", str(run.id)).out


def test_progress_silence_and_a_cancel_are_told(ctl: Ctl, running: Run) -> None:
    rows = Run.objects.filter(id=running.id)
    progress = {"phase": "reading", "files": 3, "bytes_read": 4096, "bytes_stored": 1024, "current": ""}
    rows.update(progress=progress, progress_at=database_now())
    assert "reading: 3 files, 4.00 KiB read, 1.00 KiB stored" in ctl("run", "show", str(running.id)).out
    assert "within seconds" in ctl("run", "cancel", str(running.id)).out
    last = database_now() - dt.timedelta(hours=1)
    rows.update(created_at=last, admitted_at=last, started_at=last, heartbeat_at=last)
    silence = f"no sign of life since {last:%Y-%m-%d %H:%M:%S} UTC"
    for words in (["run", "show", str(running.id)], ["status"], ["run", "list"], ["job", "show", "home"]):
        assert silence in ctl(*words).out, words
    again = ctl("run", "cancel", str(running.id)).out
    assert "within seconds" not in again
    assert f"{last:%Y-%m-%d %H:%M:%S}" in again
    assert re.search(r"cancel +asked for by token:ctl", ctl("run", "show", str(running.id)).out)


def test_what_a_cancelled_run_had_read_is_not_called_nothing(capsys: Any, ctl: Ctl, job: str) -> None:
    run = ctl("run", "show", ctl("job", "run", job, "--json").json["id"], "--json").json
    run |= {"state": "cancelled", "phase": "cancelled", "files": 0, "bytes_read": 0, "bytes_stored": 0, "sources": []}
    run["progress"] = {"phase": "reading", "files": 7, "bytes_read": 2048, "bytes_stored": 512}
    tell_run(Terminal(), run)
    shown = capsys.readouterr().out
    assert "read, stored" not in shown
    assert re.search(r"until its end +reading: 7 files, 2\.00 KiB read, 512 B stored", shown)


def test_interrupting_the_waiting_leaves_the_run_alone(
    ctl: Ctl, plan: worker.Plan, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan.executes = False

    def interrupted() -> Iterator[None]:
        raise Interrupted(130)

    monkeypatch.setattr(run_end, "looks", interrupted)
    stopped = ctl("job", "run", job, "--wait", "--json")
    run = Run.objects.get()
    assert (stopped.code, stopped.json["error"]["code"]) == (130, "INTERRUPTED")
    assert f"run {run.id} goes on" in stopped.json["error"]["message"]
    assert f"run show {run.id}" in stopped.json["error"]["hint"]
    assert "again" not in stopped.err


def test_an_empty_log_says_so(ctl: Ctl, running: Run) -> None:
    assert "the log is empty" in ctl("run", "log", str(running.id)).err
