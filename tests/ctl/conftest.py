"""Fixtures of the client's tests: a live server, a token for it, and the client in this process."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.ctl.program import main
from syncova_project import clock
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.services import token_create
from tests import canaries
from tests.ctl import worker


@dataclass(frozen=True, slots=True)
class Result:
    """What a command left: exit code and streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout, which has to be exactly one JSON object."""
        (line,) = self.out.splitlines()
        return json.loads(line)


Ctl = Callable[..., Result]


@pytest.fixture
def plan(settings: Any) -> Iterator[worker.Plan]:
    """Let the server's bells reach the worker of these tests."""
    settings.SYNCOVA_INSPECT = "tests.ctl.worker.inspect"
    settings.SYNCOVA_WAKE = "tests.ctl.worker.wake"
    settings.SYNCOVA_DOORBELL = "tests.ctl.worker.ring"
    worker.PLAN.opening, worker.PLAN.executes = worker.opens, True
    worker.PLAN.requests.clear()
    worker.PLAN.broken = None
    yield worker.PLAN
    worker.PLAN.opening = None


def wait_for_worker(seconds: float) -> None:
    """Sleep as the client does between two looks, as long as there is somebody to wait for."""
    if worker.PLAN.broken is not None:
        raise KeyboardInterrupt
    time.sleep(seconds)


@pytest.fixture
def ctl(live_server: Any, plan: worker.Plan, monkeypatch: Any, capsys: Any, tmp_path: Path) -> Ctl:
    """Return a function that runs ./syncova ctl against the live server, with a worker on duty."""
    worker.register_worker()
    _, token = token_create(name="ctl", scopes=ALL_SCOPES, now=clock.now())
    (tmp_path / "token").write_text(token + "\n")
    (tmp_path / "password").write_text(canaries.repository_password("ctl") + "\n")
    (tmp_path / "password").chmod(0o600)
    monkeypatch.setenv("SYNCOVA_URL", live_server.url)
    monkeypatch.setenv("SYNCOVA_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("SYNCOVA_REPOSITORY_PASSWORD_FILE", str(tmp_path / "password"))

    monkeypatch.setattr("jobs.ctl.patience.clock.sleep", wait_for_worker)

    def run(*words: str) -> Result:
        capsys.readouterr()
        code = main(list(words))
        captured = capsys.readouterr()
        if worker.PLAN.broken is not None:
            raise AssertionError("the worker of this test broke") from worker.PLAN.broken
        return Result(code, captured.out, captured.err)

    return run
