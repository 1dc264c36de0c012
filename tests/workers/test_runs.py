"""Runs from their request to their verdict: real beat, real workers, the real engine."""

from pathlib import Path

from jobs.database_time import database_now
from jobs.models import Run
from jobs.sentences import held_sentence
from jobs.states import FailureClass, RunState
from repositories.freezing import repository_unfreeze
from repositories.models import Backup, RepositoryState
from tests.workers import scenario
from tests.workers.harness import Stack, eventually


def test_a_run_is_executed_end_to_end(stack: Stack, tmp_path: Path) -> None:
    """A4, A7, A9, A10: one opening, each source backed up and recorded; the second run reads no content."""
    trees = scenario.settled(scenario.small_tree(tmp_path), scenario.small_tree(tmp_path, "other"))
    stack.start_worker("work", group="plain")
    place = scenario.ground(tmp_path, "plain")
    asked = scenario.job(place, *trees)

    first = scenario.finished(scenario.request(asked))
    assert (first.state, first.error_message) == (RunState.SUCCEEDED, "")
    assert first.files == 10
    assert scenario.codes(first) == ["queued", "admitted", "started", "succeeded"]
    assert [row.backup_id for row in scenario.tasks(first)] == place.backup_ids()
    assert set(Backup.objects.filter(run_id=first.id).values_list("backup_id", flat=True)) == set(place.backup_ids())

    second = scenario.finished(scenario.request(asked))
    assert second.state == RunState.SUCCEEDED
    assert second.bytes_read == 0
    assert {row.mode for row in scenario.tasks(second)} == {"incremental"}
    assert len(place.backup_ids()) == 4


def test_one_missing_source_is_a_partial_failure(stack: Stack, tmp_path: Path) -> None:
    """A6, 1.19: the good one is there, the run is not called a success."""
    stack.start_worker("work", group="partial")
    place = scenario.ground(tmp_path, "partial")
    asked = scenario.job(place, scenario.small_tree(tmp_path), tmp_path / "missing")
    run = scenario.finished(scenario.request(asked))
    assert run.state == RunState.PARTIAL_FAILURE
    assert run.skipped == 1
    good, missing = scenario.tasks(run)
    assert place.backup_ids() == [good.backup_id]
    assert (missing.state, missing.error_code) == ("failed", "SOURCE_MISSING")


def test_all_sources_missing_is_a_failure(stack: Stack, tmp_path: Path) -> None:
    """A6, A12: retried by the policy, since a source may come back."""
    stack.start_worker("work", group="none")
    place = scenario.ground(tmp_path, "none")
    asked = scenario.job(place, tmp_path / "missing", tmp_path / "neither", max_attempts=1)
    run = scenario.finished(scenario.request(asked))
    assert (run.state, run.error_code) == (RunState.FAILED, "ALL_SOURCES_FAILED")
    assert run.failure_class == FailureClass.SOURCE
    assert place.backup_ids() == []


def test_what_one_worker_saw_is_missed_by_another(stack: Stack, tmp_path: Path) -> None:
    """3.14: a withheld backup; the second worker has seen nothing itself. The run after it waits, and says why."""
    stack.start_worker("work", group="withheld")
    place = scenario.ground(tmp_path, "withheld")
    asked = scenario.job(place, scenario.small_tree(tmp_path))
    (made,) = scenario.tasks(scenario.finished(scenario.request(asked)))
    stack.kill_session("work")
    for name in (f"manifests/{made.manifest_id}", f"copies/manifests/{made.manifest_id}"):
        Path(place.location, name).unlink()
    stack.start_worker("another", group="withheld")
    refused = scenario.finished(scenario.request(asked))
    assert (refused.state, refused.error_code) == (RunState.FAILED, "REPOSITORY_ROLLED_BACK")
    assert place.backup_ids() == []
    waiting = scenario.request(asked)
    eventually(
        lambda: "earlier state" in held_sentence(Run.objects.get(pk=waiting.pk)), what="the run says why it waits"
    )
    repository_unfreeze(repository_id=place.repository.id, actor="alice", now=database_now())
    assert scenario.finished(waiting).state == RunState.SUCCEEDED


def test_a_worker_opens_what_was_registered(stack: Stack, tmp_path: Path) -> None:
    """A10, E7: the first opening adopts the repository's own id; a wrong password and a wrong place say why."""
    stack.start_worker("work", group="open")
    made = scenario.new_repository(tmp_path / "good")
    scenario.new_repository(tmp_path / "locked")
    good = scenario.registered(str(tmp_path / "good"), "open")
    locked = scenario.registered(str(tmp_path / "locked"), "open", password=b"wrong")
    absent = scenario.registered(str(tmp_path / "absent"), "open")
    opened = scenario.answered(good)
    assert (opened.state, opened.repository_id) == (RepositoryState.ACTIVE, made)
    assert scenario.answered(locked).state_code == "WRONG_PASSWORD"
    assert scenario.answered(absent).state_code == "REPOSITORY_NOT_FOUND"
