"""Checks, prunes, deletions, copies and restores from the command line: plan, agree, do (6.7)."""

from typing import Any

import pytest

from jobs.executors import ExecutionRequest, ExecutionResult, Failure, Figures
from jobs.models import Run
from jobs.states import FailureClass
from tests.ctl import worker
from tests.ctl.conftest import Ctl

pytestmark = pytest.mark.django_db(transaction=True)

FORGET: dict[str, Any] = {
    "to_keep": 1,
    "to_delete": 1,
    "lost_manifests": 0,
    "plan": [
        {"id": "a", "short_id": "3fa2", "source": "home", "time": "2026-11-30", "keep": True, "why": "newest 1 of 1"},
        {"id": "b", "short_id": "9d01", "source": "h\x1b[31m", "time": "2026-11-29", "keep": False, "why": "no rule"},
    ],
}
PRUNE: dict[str, Any] = {
    "plan": {
        "packs": 3,
        "bytes": 3000,
        "unused_bytes": 1000,
        "delete_packs": 1,
        "repack_packs": 0,
        "bytes_to_read": 0,
        "bytes_to_free": 1000,
    }
}


@pytest.fixture(autouse=True)
def vault(ctl: Ctl, plan: worker.Plan) -> None:
    plan.comes_to = comes_to
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0


def comes_to(request: ExecutionRequest) -> ExecutionResult:
    told: dict[str, Any] = {"forget": FORGET, "prune": PRUNE}.get(request.kind, {"state": "restored"})
    return ExecutionResult(parameters=told, figures=Figures(files=2))


def asked() -> list[tuple[str, object]]:
    return [(run.kind, run.parameters.get("dry_run")) for run in Run.objects.order_by("created_at", "id")]


def test_a_deletion_is_planned_shown_and_done(ctl: Ctl) -> None:
    done = ctl("repository", "forget", "vault", "--keep-last", "1", "--yes", "--wait")
    assert done.code == 0, done.err
    assert "keep" in done.out
    assert "1 to keep, 1 to delete" in done.out
    assert "\x1b" not in done.out
    assert asked() == [("forget", True), ("forget", False)]


@pytest.mark.parametrize("words", [("forget", "vault", "--keep-last", "1"), ("prune", "vault")])
def test_without_agreement_only_the_plan_is_made(ctl: Ctl, words: tuple[str, ...]) -> None:
    """Nobody is at the terminal: it says which option agrees."""
    refused = ctl("repository", *words)
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert asked() == [(words[0], True)]
    assert ctl("repository", *words, "--dry-run").code == 0
    assert asked() == [(words[0], True)] * 2


def test_a_plan_that_failed_ends_it(ctl: Ctl, plan: worker.Plan) -> None:
    failure = Failure("LAST_BACKUP", "The last good backup would go.", FailureClass.CONFIGURATION)
    plan.comes_to = lambda _request: ExecutionResult(failure=failure)
    done = ctl("repository", "forget", "vault", "3fa2", "--yes")
    assert (done.code, "The last good backup would go." in done.out) == (1, True)
    assert asked() == [("forget", True)]


def test_a_prune_is_planned_and_done(ctl: Ctl) -> None:
    done = ctl("repository", "prune", "vault", "--max-duration", "2h", "--yes", "--wait")
    assert (done.code, "would delete 1 pack" in done.out) == (0, True)
    assert [run.parameters["max_seconds"] for run in Run.objects.all()] == [7200.0, 7200.0]


def test_a_check_is_queued_and_waited_for(ctl: Ctl) -> None:
    assert ctl("repository", "check", "vault", "--read-data", "--wait").code == 0
    assert Run.objects.get().parameters == {"read_data": True}


def test_a_restore_says_what_came_back(ctl: Ctl, settings: object) -> None:
    settings.SYNCOVA_RESTORE_ROOTS = ["/srv/restores"]  # type: ignore[attr-defined]
    done = ctl("restore", "vault", "--backup", "latest", "--target", "/srv/restores/a", "--wait")
    assert (done.code, "restored" in done.out, "2 files" in done.out) == (0, True, True)
    refused = ctl("restore", "vault", "--backup", "latest", "--target", "/etc")
    assert (refused.code, "/srv/restores" in refused.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [((), "--target"), (("--target", "/a"), "--backup"), (("--target", "/a", "--at", "soon"), "no time")],
)
def test_a_restore_without_its_words_asks_nothing(ctl: Ctl, words: tuple[str, ...], says: str) -> None:
    refused = ctl("restore", "vault", *words)
    assert (refused.code, says in refused.err) == (2, True)
    assert not Run.objects.exists()


def test_a_copy_names_both_repositories(ctl: Ctl) -> None:
    assert ctl("repository", "register", "offsite", "/srv/offsite").code == 0
    assert ctl("repository", "copy", "vault", "offsite", "latest", "--wait").code == 0
    run = Run.objects.get()
    assert (run.kind, run.repository.name, run.parameters["backups"]) == ("copy", "offsite", ["latest"])


def test_upkeep_is_planned_listed_and_ended(ctl: Ctl) -> None:
    made = ctl("repository", "plan", "vault", "forget", "--daily", "05:00", "--keep-hourly", "7", "--json")
    assert (made.code, made.json["order"]["keep_hourly"], made.json["order"]["dry_run"]) == (0, 7, False)
    assert "05:00" in ctl("repository", "plans", "vault").out
    assert ctl("repository", "unplan", "vault", "forget").code == 0
    assert "no upkeep is planned" in ctl("repository", "plans", "vault").out
    assert "UPKEEP_PLAN_NOT_FOUND" in ctl("repository", "unplan", "vault", "forget", "--json").out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("prune",), "nothing says when"),
        (("restore", "--daily", "05:00"), "no upkeep"),
        (("prune", "--daily", "05:00", "--keep-last", "1"), "no such field"),
        (("forget", "--daily", "05:00"), "keep rule"),
    ],
)
def test_what_cannot_be_planned_is_told(ctl: Ctl, words: tuple[str, ...], says: str) -> None:
    refused = ctl("repository", "plan", "vault", *words)
    assert (refused.code, says in refused.err) == (2, True)


RESTORE: dict[str, Any] = {
    "target": "/srv/h\x1b[31mome",
    "backup_id": "run-1-home",
    "planned_ns": 7,
    "deletion_deleted": 2,
    "deletion_deleted_bytes": 6,
    "deletion_spared": 1,
    "deletion_refused": "",
    "deletion_paths": [{"path": "gained\x1b[31m", "objects": 2}],
}
IN_PLACE = ("restore", "vault", "--backup", "latest", "--in-place", "--overwrite", "if-changed", "--delete")


def test_what_a_restore_deletes_is_planned_shown_and_agreed_to(ctl: Ctl, plan: worker.Plan) -> None:
    plan.comes_to = lambda _request: ExecutionResult(parameters=RESTORE)
    refused = ctl(*IN_PLACE)
    assert (refused.code, "--yes" in refused.err, asked()) == (2, True, [("restore", True)])
    assert "would delete 2 objects, 6 B" in refused.out
    assert "gained\\x1b[31m (with 1 in it)" in refused.out
    done = ctl(*IN_PLACE, "--yes", "--wait")
    assert done.code == 0, done.err
    assert asked()[1:] == [("restore", True), ("restore", False)]
    first, last = Run.objects.order_by("-created_at", "-id")[1], Run.objects.order_by("-created_at", "-id")[0]
    assert (last.parameters["plan"], last.parameters["delete_before_ns"]) == (str(first.id), 7)


@pytest.mark.parametrize(
    "words",
    [("--in-place", "--target", "/srv/a"), (), ("--in-place", "--delete")],
)
def test_contradictions_are_told_before_anything_is_asked(ctl: Ctl, words: tuple[str, ...]) -> None:
    assert ctl("restore", "vault", "--backup", "latest", *words).code == 2
    assert asked() == []
