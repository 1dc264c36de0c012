"""A child that was started early is used, or leaves nothing behind."""

from pathlib import Path

import pytest

from repositories.console import head_start
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.requests import Request
from tests.engine.process.children import access, collect, group, result, wait_until
from tests.engine.repositories import local_repository

VERBS = frozenset({"backup"})


def test_the_waiting_child_is_the_one_that_works(tmp_path: Path) -> None:
    local_repository(tmp_path / "repo")
    head_start.begin(["backup", "--path", "/"], VERBS)
    child = head_start.start_child()
    with EngineProcess(Request(operation="info", repository=access(tmp_path / "repo")), child=child) as process:
        assert process.pid == child.pid
        assert result(collect(process))["backups"] == 0
    head_start.end()


def test_a_child_that_nobody_asked_for_is_gone() -> None:
    head_start.begin(["backup"], VERBS)
    child = head_start._waiting[0]
    head_start.end()
    assert child.returncode is not None
    wait_until(lambda: group(child.pid) == [])


@pytest.mark.parametrize("words", [[], ["list"], ["backup", "--help"], ["--json", "backup"]])
def test_other_commands_start_none(words: list[str]) -> None:
    head_start.begin(words, VERBS)
    assert head_start._waiting == []
