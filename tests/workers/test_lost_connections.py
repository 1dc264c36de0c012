"""A connection that is lost in the middle of an answer is waited for, whatever class its driver gives that (A16)."""

import os
import signal
from pathlib import Path

from django.db import connection, transaction

from jobs.models import Job
from jobs.states import RunState
from repositories.models import Backup
from tests.workers import scenario
from tests.workers.harness import Stack, eventually
from workers.database import forget_connection, until_done

# Who waits for a lock that the asking connection holds.
_BLOCKED = "SELECT pid FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"


def blocked() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(_BLOCKED)
        return [pid for (pid,) in cursor.fetchall()]


def test_a_run_whose_end_met_a_killed_server_process_ends_as_it_did(stack: Stack, tmp_path: Path) -> None:
    """kill -9 of the process that writes the end: PostgreSQL recovers, and the end is written once, as it was."""
    place = scenario.ground(tmp_path, "lost")
    stack.start_worker("lost", group="lost")
    scenario.serving("lost")
    tree = scenario.large_tree(tmp_path, size=scenario.SLOW_BYTES // 20)
    job = scenario.job(place, tree, bandwidth=scenario.SLOW_RATE)
    run = scenario.running(scenario.request(job), read_bytes=1)
    with transaction.atomic():
        # The end locks the job first: its statement is under way when its server process is killed.
        Job.objects.select_for_update().get(pk=job.pk)
        for pid in eventually(blocked, what="the end is about to be written"):
            os.kill(pid, signal.SIGKILL)
        # The server ends this connection too: there is nothing left to commit.
        transaction.set_rollback(True)
    forget_connection()
    ended = until_done(lambda: scenario.finished(run))
    assert ended is not None
    assert (ended.state, ended.error_code) == (RunState.SUCCEEDED, "")
    assert scenario.codes(run)[-1] == "succeeded"
    assert scenario.codes(run).count("succeeded") == 1
    assert "The database does not answer" in stack.log("lost")
    assert "Traceback" not in stack.log("lost")
    assert Backup.objects.filter(run_id=run.id).count() == 1
