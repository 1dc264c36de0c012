"""A worker deletes by policy through the child, as a person does by hand."""

from pathlib import Path

import pytest

from repositories.engine.process.requests import ForgetOrder, Request, RunReference
from repositories.engine.repository import Repository
from tests.engine.forgetting.builders import DAY, NOW, put_backup
from tests.engine.process.children import access, failure, result, run
from tests.engine.repositories import local_repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return local_repository(tmp_path / "repo")


def request(repository: Repository, order: ForgetOrder | None, *, dry_run: bool = False) -> Request:
    run_id = RunReference(id="0198c8a0-0000-7000-8000-000000000000")
    where = access(Path(repository.storage.place))
    return Request(operation="forget", repository=where, run=run_id, forget=order, dry_run=dry_run)


def test_an_order_is_planned_confirmed_and_carried_out(repository: Repository) -> None:
    now = repository.clock.now_ns()
    made = [put_backup(repository, now - age * DAY) for age in (3, 2, 1)]
    order = ForgetOrder(keep_last=1, reason="policy")
    planned = result(run(request(repository, order, dry_run=True)))
    assert (planned["dry_run"], planned["to_delete"], planned["deleted"]) == (True, 2, [])
    assert [each["reasons"][0]["text"] for each in planned["plan"]] == ["last 1 of 1", *["no rule keeps it"] * 2]
    assert failure(run(request(repository, order), ok=False)).error.code == "LEASE_LOST"
    assert [each.object_id for each in repository.backups()] == made
    done = result(run(request(repository, order)))
    assert {each["manifest_id"] for each in done["deleted"]} == set(made[:2])
    assert [each.object_id for each in repository.backups()] == made[2:]


def test_an_order_without_sense_is_an_error(repository: Repository) -> None:
    put_backup(repository, NOW)
    for order in (None, ForgetOrder(), ForgetOrder(keep_daily=-1)):
        assert failure(run(request(repository, order))).error.code == "CONFIGURATION"
    assert len(repository.backups()) == 1
