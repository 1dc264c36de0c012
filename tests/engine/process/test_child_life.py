"""The child's life: cancel in every phase, kill, crash, loss of the parent; and what others can see of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from repositories.engine.manifest.backups import list_backups
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import (
    ConfirmWanted,
    Failed,
    Progress,
    SourceFinished,
    SourceStarted,
    encode_line,
)
from repositories.engine.process.requests import Request
from repositories.engine.process.spawn import child_environment
from repositories.engine.repository import Repository
from tests import canaries
from tests.engine.process.children import (
    PATIENCE,
    access,
    backup_request,
    collect,
    failure,
    group,
    run,
    wait_for,
    wait_until,
)
from tests.engine.repositories import PASSWORD, local_repository

ROOT = Path(__file__).parents[3]
CANARY = canaries.credential("inherited")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return local_repository(tmp_path / "repo")


@pytest.fixture
def slow(tmp_path: Path, repository: Repository) -> Request:
    """A request that takes half an hour: 2 MB at 1,000 bytes a second."""
    assert repository.id
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(200):
        (tree / f"file-{number}").write_bytes(os.urandom(10_000))
    return backup_request(tmp_path / "repo", tree, bandwidth_bytes_per_second=1000)


def reading(event: object) -> bool:
    return isinstance(event, Progress | SourceStarted)


@pytest.mark.parametrize("how", ["command", "signal", "interrupt", "end of stdin"])
def test_a_cancel_is_obeyed_and_leaves_nothing(how: str, slow: Request, repository: Repository) -> None:
    """engine.md 8: cancel within seconds; nothing half is visible; exit code 130."""
    with EngineProcess(slow) as process:
        wait_for(process, reading)
        if how == "command":
            process.cancel()
        elif how == "end of stdin":
            process._stdin.close()
        else:
            os.kill(process.pid, signal.SIGTERM if how == "signal" else signal.SIGINT)
        last = collect(process)[-1]
        assert isinstance(last, Failed)
        assert last.error.code == "CANCELLED"
        assert process.wait(PATIENCE) == 130
    assert list_backups(repository) == []


def test_a_cancel_while_waiting_for_the_confirmation(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "tree").mkdir()
    with EngineProcess(backup_request(tmp_path / "repo", tmp_path / "tree")) as process:
        wait_for(process, lambda event: isinstance(event, ConfirmWanted))
        assert process.next_event(0.5) is None, "the child waits for as long as it takes"
        process.cancel()
        assert failure(collect(process)).error.code == "CANCELLED"
    assert list_backups(repository) == []


def test_answers_to_other_questions_do_not_count(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "tree").mkdir()
    with EngineProcess(backup_request(tmp_path / "repo", tmp_path / "tree")) as process:
        asked = wait_for(process, lambda event: isinstance(event, ConfirmWanted))
        assert isinstance(asked, ConfirmWanted)
        process.confirm(asked.id + 1, ok=True)
        assert process.next_event(0.5) is None
        process.confirm(asked.id, ok=True)
        wait_for(process, lambda event: isinstance(event, SourceFinished) and event.status == "succeeded")
    assert len(list_backups(repository)) == 1


def test_a_killed_child_is_told_and_leaves_no_half_backup(slow: Request, repository: Repository) -> None:
    """engine.md 1.3: a kill at any instant leaves nothing half; the next backup just works."""
    with EngineProcess(slow) as process:
        wait_for(process, reading)
        os.kill(process.pid, signal.SIGKILL)
        error = failure(collect(process)).error
        assert (error.code, error.failure_class) == ("ENGINE_LOST", "transient")
        assert "signal 9" in error.message
    assert list_backups(repository) == []
    again = backup_request(Path(slow.repository.location), Path(os.fsdecode(slow.sources[0].path)))
    assert run(again)
    assert len(list_backups(repository)) == 1


def test_terminate_kills_a_child_that_does_not_listen(slow: Request) -> None:
    with EngineProcess(slow) as process:
        wait_for(process, reading)
        os.kill(process.pid, signal.SIGSTOP)
        assert process.terminate(grace_seconds=0.2)
        assert process.returncode == -signal.SIGKILL


def test_terminate_lets_a_child_tell_its_end(slow: Request) -> None:
    with EngineProcess(slow) as process:
        wait_for(process, reading)
        assert process.terminate(PATIENCE)
        assert process.returncode == 130
        assert failure(collect(process)).error.code == "CANCELLED"
        assert process.next_event(0.1) is None, "nothing comes after the last event"


def test_a_child_dies_with_its_parent(slow: Request, repository: Repository) -> None:
    """engine.md 4: killed with its parent, guardian and all."""
    parent_code = """
import sys
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import (SourceStarted, decode_request)
from tests import canaries
process = EngineProcess(decode_request(sys.stdin.buffer.readline()))
for event in process.events(100):
    if isinstance(event, SourceStarted):
        print(process.pid, flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", parent_code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as parent:
        assert parent.stdin
        assert parent.stdout
        parent.stdin.write(encode_line(slow))
        parent.stdin.flush()
        child = int(parent.stdout.readline())
        assert group(child)
        parent.kill()
        parent.wait(PATIENCE)
        wait_until(lambda: not group(child))
    assert list_backups(repository) == []


def test_a_finished_child_leaves_no_process_behind(tmp_path: Path, repository: Repository) -> None:
    with EngineProcess(Request(operation="info", repository=access(tmp_path / "repo"))) as process:
        collect(process)
        process.wait(PATIENCE)
        assert group(process.pid) == []
    assert repository.id


def test_a_child_of_another_parent_does_nothing(slow: Request, repository: Repository) -> None:
    """The parent died before the kernel knew whom to watch."""
    finished = subprocess.run(
        [sys.executable, "-P", "-m", "repositories.engine.process"],
        input=encode_line(slow),
        capture_output=True,
        env=child_environment(),
        check=False,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (1, b"", b"")
    assert list_backups(repository) == []


@pytest.mark.parametrize("line", [b"", b"{}\n", b"no json\n", b'{"operation":"explode","repository":{}}\n'])
def test_what_is_no_request_ends_with_2(line: bytes) -> None:
    finished = subprocess.run(
        [sys.executable, "-P", "-m", "repositories.engine.process"],
        input=line,
        capture_output=True,
        env=child_environment(),
        check=False,
    )
    assert finished.returncode == 2
    assert b"ENGINE_PROTOCOL" in finished.stdout
    assert finished.stderr == b""


def test_nobody_can_see_the_password(slow: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets travel on stdin alone: not in argv, not in the environment, not in events or messages."""
    monkeypatch.setenv("SYNCOVA_REPOSITORY_PASSWORD", CANARY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    secret = PASSWORD.decode()
    assert secret not in repr(slow)
    with EngineProcess(slow) as process:
        told = repr(wait_for(process, reading))
        for pid in group(process.pid):
            seen = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
            assert CANARY.encode() not in seen
            assert PASSWORD not in seen
        process.cancel()
        told += repr(collect(process))
    assert secret not in told


def test_an_old_protocol_is_refused(tmp_path: Path, repository: Repository) -> None:
    request = Request(operation="info", repository=access(tmp_path / "repo"), v=99)
    assert "99" in failure(run(request)).error.message
    assert repository.id
