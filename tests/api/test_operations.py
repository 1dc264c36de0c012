"""Runs without a job over HTTP: 202 with their run, plan first, targets below the roots, rights (7.3, 7.4)."""

import base64
from typing import Any

import pytest

from jobs.conclusion import conclude
from jobs.database_time import database_now
from jobs.executors import ExecutionResult, Failure, Figures
from jobs.models import Run
from jobs.states import FailureClass, RunState
from repositories.models import RepositoryState
from syncova_project.access.models import AuditEntry
from tests.api.builders import NOBODY, start
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db
ROOT = "/srv/restores"


@pytest.fixture(autouse=True)
def roots(settings: Any) -> None:
    settings.SYNCOVA_RESTORE_ROOTS = [ROOT]


def ask(action: str, body: dict[str, Any] | None = None, **fields: Any) -> Any:
    repository = fields.pop("repository", None) or make_repository()
    return ApiClient().post(f"repositories/{repository.id}/{action}", body or {})


@pytest.mark.parametrize(
    ("action", "body", "dry"),
    [
        ("check", {"read_data": True}, None),
        ("prune", {}, True),
        ("prune", {"dry_run": False}, False),
        ("forget", {"keep_last": 3}, True),
        ("forget", {"backups": ["3fa2"], "dry_run": False}, False),
        ("restore", {"backup": "latest", "target": f"{ROOT}/one"}, False),
    ],
)
def test_each_action_is_a_queued_run(action: str, body: dict[str, Any], dry: bool | None) -> None:
    """E2, rule 20: what deletes ends with its plan unless the caller says otherwise."""
    answer = ask(action, body)
    assert (answer.status, answer.json["kind"], answer.json["phase"]) == (202, action, "waiting")
    assert answer.headers["Location"] == f"/api/v1/runs/{answer.json['id']}"
    page = ApiClient().get(f"runs/{answer.json['id']}").json
    assert page["parameters"].get("dry_run") is dry
    assert page["result"] is None
    assert AuditEntry.objects.get(action="run.request").details["kind"] == action


def test_the_plan_is_the_result_of_the_run() -> None:
    run = Run.objects.get(pk=ask("forget", {"keep_last": 1}).json["id"])
    plan = {"to_delete": 1, "plan": [{"id": "a", "keep": False}]}
    assert conclude(run.id, start(run), ExecutionResult(parameters=plan), now=database_now())
    page = ApiClient().get(f"runs/{run.id}").json
    assert (page["state"], page["result"]) == ("succeeded", plan)
    end = ApiClient().get(f"runs/{run.id}/events").json["events"][-1]
    assert end["parameters"] == {"reason": "completed", "to_delete": 1}


def test_one_upkeep_of_a_kind_at_a_time() -> None:
    repository = make_repository()
    assert ask("prune", repository=repository).status == 202
    ask("prune", repository=repository).refused(409, "UPKEEP_ACTIVE")
    assert ask("check", repository=repository).status == 202


@pytest.mark.parametrize("target", ["/etc", "/srv/restores-2/x", ROOT, f"{ROOT}/../etc", "relative", ""])
def test_a_target_outside_the_roots_is_refused(target: str) -> None:
    answer = ask("restore", {"backup": "latest", "target_base64": base64.b64encode(target.encode()).decode()})
    assert answer.status == 400
    assert answer.json["error"]["code"] in {"RESTORE_TARGET_NOT_ALLOWED", "VALIDATION_FAILED"}
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("action", "body", "field"),
    [
        ("forget", {}, "backups"),
        ("forget", {"keep_last": -1}, "keep_last"),
        ("forget", {"keep_last": 1, "zone": "Mars/Olympus"}, "zone"),
        ("prune", {"max_unused_percent": 101}, "max_unused_percent"),
        ("prune", {"dryrun": True}, "dryrun"),
        ("restore", {"backup": "latest"}, "target"),
        ("restore", {"backup": "latest", "target": ROOT + "/a", "overwrite": "maybe"}, "overwrite"),
        ("restore", {"backup": "latest", "target": ROOT + "/a", "in_place": True}, "target"),
        ("restore", {"backup": "latest", "in_place": True, "delete": True}, "overwrite"),
        ("restore", {"backup": "latest", "in_place": True, "delete": True, "overwrite": "always"}, "plan"),
        ("restore", {"backup": "latest", "in_place": True, "plan": NOBODY}, "plan"),
        ("restore", {"backup": "latest", "target_base64": "???"}, "target_base64"),
        ("copy", {"from_repository_id": "x"}, "from_repository_id"),
    ],
)
def test_what_cannot_be_is_refused_by_field(action: str, body: dict[str, Any], field: str) -> None:
    error = ask(action, body).refused(400, "VALIDATION_FAILED")
    assert field in error["details"]


def test_a_copy_names_another_opened_repository() -> None:
    repository, other = make_repository(), make_repository()
    copied = ask("copy", {"from_repository_id": str(other.id)}, repository=repository)
    assert (copied.status, copied.json["repository"]["id"]) == (202, str(repository.id))
    ask("copy", {"from_repository_id": str(repository.id)}, repository=repository).refused(400, "VALIDATION_FAILED")
    closed = make_repository(state=RepositoryState.REGISTERING, repository_id=None)
    order = {"from_repository_id": str(closed.id)}
    ask("copy", order, repository=repository).refused(409, "REPOSITORY_NOT_READY")
    error = ask("copy", {"from_repository_id": NOBODY}, repository=repository).refused(400, "VALIDATION_FAILED")
    assert error["details"] == {"from_repository_id": [f"There is no repository {NOBODY}."]}


def test_what_failed_for_a_while_is_tried_again_but_a_restore_is_not() -> None:
    """C5, A12: a restore ends, since somebody waits for what it says."""
    failure = Failure("REPOSITORY_UNREACHABLE", "away", FailureClass.NETWORK)
    for action, body, tries in (
        ("check", {}, 1),
        ("restore", {"backup": "latest", "target": f"{ROOT}/one"}, 0),
    ):
        run = Run.objects.get(pk=ask(action, body).json["id"])
        assert conclude(run.id, start(run), ExecutionResult(failure=failure), now=database_now())
        assert Run.objects.filter(origin_run=run, trigger="retry").count() == tries


def test_what_a_restore_left_out_is_told() -> None:
    """A11: no success with something skipped."""
    run = Run.objects.get(pk=ask("restore", {"backup": "latest", "target": f"{ROOT}/one"}).json["id"])
    done = ExecutionResult(figures=Figures(files=4, skipped=2), skip_reasons={"kept": 2})
    assert conclude(run.id, start(run), done, now=database_now())
    page = ApiClient().get(f"runs/{run.id}").json
    assert page["state"] == RunState.PARTIAL_FAILURE
    assert (page["files"], page["reason"]) == (4, "2 objects skipped: something else was there and was kept.")


IN_PLACE: dict[str, Any] = {"backup": "latest", "in_place": True, "overwrite": "if-changed", "delete": True}


def planned(repository: Any, order: dict[str, Any], **told: Any) -> str:
    """Return a dry run that has ended."""
    run = Run.objects.get(pk=ask("restore", {**order, "dry_run": True}, repository=repository).json["id"])
    found = {"backup_id": "run-1-home", "planned_ns": 1_767_232_800_000_001_000, "deletion_deleted": 2, **told}
    assert conclude(run.id, start(run), ExecutionResult(parameters=found), now=database_now())
    return str(run.id)


def test_what_a_restore_deletes_was_in_a_plan() -> None:
    """Rule 20: of the backup that the plan named, and nothing that was changed since then."""
    repository = make_repository()
    plan = planned(repository, IN_PLACE)
    run = Run.objects.get(pk=ask("restore", {**IN_PLACE, "plan": plan}, repository=repository).json["id"])
    assert (run.parameters["backup"], run.parameters["delete_before_ns"]) == ("run-1-home", 1_767_232_800_000_001_000)
    assert (run.parameters["in_place"], run.parameters["delete"], run.parameters["plan"]) == (True, True, plan)


def test_a_plan_of_something_else_agrees_to_nothing() -> None:
    repository, other = make_repository(), make_repository()
    for plan, order in (
        (planned(repository, IN_PLACE), {**IN_PLACE, "paths": ["etc"]}),
        (planned(repository, IN_PLACE), {**IN_PLACE, "backup": "3fa2"}),
        (planned(other, IN_PLACE), IN_PLACE),
        (ask("restore", {**IN_PLACE, "dry_run": True}, repository=repository).json["id"], IN_PLACE),
        (ask("check", repository=repository).json["id"], IN_PLACE),
        (NOBODY, IN_PLACE),
    ):
        refused = ask("restore", {**order, "plan": plan}, repository=repository).refused(400, "VALIDATION_FAILED")
        assert "plan" in refused["details"]


@pytest.mark.parametrize(
    "order",
    [
        {"backup": "latest", "in_place": True},
        {"backup": "latest", "target": f"{ROOT}/a", "overwrite": "always", "delete": True, "dry_run": True},
        {"backup": "latest", "target": f"{ROOT}/a", "overwrite": "always"},
        {"backup": "latest", "target": f"{ROOT}/a", "overwrite": "if-changed"},
        {"backup": "latest", "target": f"{ROOT}/a", "overwrite": "if-newer"},
    ],
)
def test_over_what_is_there_is_a_right_of_its_own(order: dict[str, Any]) -> None:
    """execution.md, section 3: in place, with deletion, and whatever replaces what differs."""
    address = f"repositories/{make_repository().id}/restore"
    refused = ApiClient("restores.run", "repositories.write").post(address, order).refused(403, "PERMISSION_DENIED")
    assert refused["details"] == {"needs_any_of": ["restores.in_place"]}
    ApiClient("restores.in_place").post(address, order).refused(403, "PERMISSION_DENIED")
    assert ApiClient("restores.run", "restores.in_place").post(address, order).status == 202
    beside = {"backup": "latest", "target": f"{ROOT}/a", "overwrite": "never"}
    assert ApiClient("restores.run").post(address, beside).status == 202


@pytest.mark.parametrize(
    ("action", "right"),
    [
        ("check", "repositories.write"),
        ("prune", "repositories.write"),
        ("forget", "repositories.write"),
        ("copy", "repositories.write"),
        ("restore", "restores.run"),
    ],
)
def test_each_asks_for_its_right(action: str, right: str) -> None:
    """E1, 7.8."""
    address = f"repositories/{NOBODY}/{action}"
    ApiClient("jobs.run", "jobs.write").post(address, {}).refused(403, "PERMISSION_DENIED")
    assert ApiClient(right).post(address, {"nothing": 1}).status == 400
