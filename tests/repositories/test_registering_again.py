"""Giving an opened repository its password anew, and what is kept of a repository that no run could open."""

import datetime as dt

import pytest

from repositories.errors import RepositoryNameTakenError
from repositories.models import Repository
from repositories.opening import repository_access
from repositories.selectors import accepts_backups, repository_get
from repositories.services import (
    observe_repository_id,
    repository_inspected,
    repository_inspection_failed,
    repository_register,
)
from repositories.troubles import repository_unopened
from syncova_project.access.models import AuditEntry
from tests import canaries
from tests.repositories.builders import NOW, make_repository, new_id, random_hex

pytestmark = pytest.mark.django_db


@pytest.fixture
def opened() -> Repository:
    return make_repository(name="vault", location="/srv/vault")


def again(**fields: str) -> Repository:
    values = {"name": "VAULT", "location": "/srv/vault/", **fields}
    return repository_register(**values, password=b"new", actor="alice", now=NOW)


def test_the_same_name_and_place_replace_the_password(opened: Repository) -> None:
    """What the hint of SECRET_UNREADABLE says works; the row waits until a worker opened it with that password."""
    assert again().id == opened.id
    access = repository_access(repository_id=opened.id)
    assert (access.password, access.expected_id) == (b"new", opened.repository_id)
    assert not accepts_backups(repository_get(opened.id))[0]
    entry = AuditEntry.objects.get(action="repository.register")
    assert (entry.actor, entry.details["again"]) == ("alice", True)
    # A run that was started with the old password proves nothing of the new one.
    assert opened.repository_id is not None
    observe_repository_id(repository_id=opened.id, observed_hex=opened.repository_id, run_id=new_id(), now=NOW)
    assert repository_get(opened.id).state == "registering"
    repository_inspected(repository_id=opened.id, repository_hex=opened.repository_id, now=NOW)
    assert accepts_backups(repository_get(opened.id)) == (True, "")


def test_a_wrong_new_password_is_told_and_can_be_mended(opened: Repository) -> None:
    again()
    repository_inspection_failed(repository_id=opened.id, code="WRONG_PASSWORD", message="No slot.", now=NOW)
    assert repository_get(opened.id).state == "failed"
    again()
    assert opened.repository_id is not None
    repository_inspected(repository_id=opened.id, repository_hex=opened.repository_id, now=NOW)
    assert repository_get(opened.id).state == "active"


@pytest.mark.parametrize("fields", [{"location": "/srv/other"}, {"worker_group": "other"}])
def test_another_place_under_the_same_name_is_refused(opened: Repository, fields: dict[str, str]) -> None:
    with pytest.raises(RepositoryNameTakenError):
        again(**fields)
    assert repository_access(repository_id=opened.id).password == canaries.repository_password("registered").encode()


def test_another_repository_at_the_same_place_is_frozen(opened: Repository) -> None:
    """A10: a new password is no leave to swap."""
    again()
    repository_inspected(repository_id=opened.id, repository_hex=random_hex(), now=NOW)
    row = repository_get(opened.id)
    assert row.state == "active"
    assert "swapped" in accepts_backups(row)[1]


def test_a_repository_that_no_run_could_open_says_since_when(opened: Repository) -> None:
    later = NOW + dt.timedelta(hours=1)
    for moment, message in ((NOW, "gone"), (later, "still gone")):
        repository_unopened(repository_id=opened.id, code="REPOSITORY_NOT_FOUND", message=message, now=moment)
    row = repository_get(opened.id)
    assert (row.trouble_code, row.trouble_reason, row.trouble_at) == ("REPOSITORY_NOT_FOUND", "still gone", NOW)
    # A run may find it again, so none is held back.
    assert accepts_backups(row) == (True, "")
    repository_unopened(repository_id=opened.id, code="WRONG_PASSWORD", message="No slot.", now=later)
    assert repository_get(opened.id).trouble_at == later
    assert opened.repository_id is not None
    observe_repository_id(repository_id=opened.id, observed_hex=opened.repository_id, run_id=new_id(), now=later)
    assert (repository_get(opened.id).trouble_code, repository_get(opened.id).trouble_at) == ("", None)
