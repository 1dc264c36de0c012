"""A source whose file system never answers: whoever waits for the engine goes on."""

from pathlib import Path

import pytest

from repositories.engine.process.client import EngineProcess
from tests.engine.process.children import PATIENCE, backup_request, wait_until
from tests.engine.repositories import local_repository
from tests.fuse.mounting import mounted


@pytest.mark.parametrize(("op", "name"), [("READ", "victim"), ("LOOKUP", "victim"), ("GETATTR", "victim")])
def test_a_call_that_never_comes_back_holds_nobody_else(
    op: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.4, engine.md 4: not even SIGKILL ends a process in such a call; that is told, and it ends with the call."""
    monkeypatch.setattr("repositories.engine.process.client._KILL_WAIT_SECONDS", 0.2)
    assert local_repository(tmp_path / "repo").id
    with mounted(tmp_path / "source") as source:
        (source.path / "victim").write_bytes(b"x")
        source.switch(faults=[{"op": op, "name": name, "hangs": True}])
        engine = EngineProcess(backup_request(tmp_path / "repo", source.path))
        try:
            wait_until(lambda: source.held_back() > 0)
            assert not engine.terminate(grace_seconds=0.2)
        finally:
            source.server.kill()
            assert engine.wait(PATIENCE) is not None
            engine.close()
