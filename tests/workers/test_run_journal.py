"""The log of a run: its beginning, each source's beginning and end with figures and problems, its end (H6, A11)."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.executors import ExecutionSource, Figures, SourceResult
from jobs.states import TaskState
from tests.workers import scenario
from tests.workers.scenario import Ground
from tests.workers.test_executor import Control, Saboteur, execute, request_for
from workers import run_journal
from workers.outcome import MAX_TEXT

pytestmark = pytest.mark.django_db


def test_a_backup_is_told_from_its_beginning_to_its_end(place: Ground) -> None:
    tree, gone, control = scenario.small_tree(place.directory), place.directory / "gone", Control()
    result = execute(request_for(place, tree, gone, fence=7), control)
    (backup,) = [source.backup_id for source in result.sources if source.backup_id]
    first, last = control.lines[0], control.lines[-1]
    name = place.repository.name
    told = "attempt 1, started by schedule, fence 7"
    assert first == f"info: The backup of 2 sources begins on the repository {name}: {told}."
    assert f"info: Source {tree} begins." in control.lines
    (end,) = [line for line in control.lines if line.startswith(f"info: Source {tree} ends: ")]
    assert "5 files, 9.77 KiB; 9.77 KiB read, " in end
    assert end.endswith(f"stored; 0 skipped, 0 warnings, 0 notes; backup {backup}.")
    assert any(line.startswith(f"error: Source {gone} failed: SOURCE_MISSING: ") for line in control.lines)
    assert last == "error: The run ends: 1 of 2 sources backed up."


def test_problems_and_figures_of_a_source_are_told_by_gravity() -> None:
    """A11."""
    source = ExecutionSource(uuid.uuid4(), uuid.uuid4(), "/home", "filesystem", b"/home", (), "chain")
    result = SourceResult(
        source.task_run_id,
        TaskState.SUCCEEDED,
        backup_id="run-x",
        figures=Figures(files=1, skipped=1, warnings=1, notes=1),
        problems=(
            {"severity": "skipped", "code": "permission", "path": "secret", "message": "no read permission"},
            {"severity": "warning", "code": "still_changing", "path": "x" * MAX_TEXT, "message": ""},
            {"severity": "note", "code": "vanished", "path": "gone", "message": ""},
        ),
    )
    skipped, warned, noted, end = run_journal.source_ends(source, result)
    assert skipped == ("warning", "/home: skipped: secret: no read permission")
    assert (warned[0], len(warned[1])) == ("warning", MAX_TEXT)
    assert noted == ("info", "/home: note: gone: vanished")
    assert end[0] == "warning"
    assert "1 skipped, 1 warning, 1 note; backup run-x." in end[1]


def test_an_engine_that_leaves_no_words_is_told_as_such(place: Ground) -> None:
    tree, control = scenario.large_tree(place.directory, size=3_000_000), Saboteur()
    request = request_for(place, tree)
    execute(replace(request, bandwidth_limit_bps=100_000), control)
    assert any("was ended by SIGKILL, without last words" in line for line in control.lines)
    assert control.lines[-1].startswith("error: The run ends with ENGINE_LOST: ")


def test_a_repository_that_cannot_be_opened_still_has_a_log(place: Ground) -> None:
    Path(place.location).rename(place.directory / "moved")
    control = Control()
    execute(request_for(place, scenario.small_tree(place.directory)), control)
    assert "begins" in control.lines[0]
    assert control.lines[-1].startswith("error: The run ends with REPOSITORY_NOT_FOUND: ")
    place.repository.refresh_from_db()
    assert (place.repository.trouble_code, place.repository.state) == ("REPOSITORY_NOT_FOUND", "active")
    (place.directory / "moved").rename(place.location)
    execute(request_for(place, place.directory / "source"))
    place.repository.refresh_from_db()
    assert place.repository.trouble_at is None
