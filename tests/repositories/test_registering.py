"""Registering: refused without key material, opened once by a worker, its own id adopted (A5, A10, E7, G5)."""

import datetime as dt
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from repositories.errors import (
    EncryptionRequiredError,
    LocationNotAvailableError,
    RepositoryNameTakenError,
    RepositoryRegisteredError,
    RepositoryUnknownError,
)
from repositories.models import Repository
from repositories.opening import repository_access
from repositories.selectors import accepts_backups, is_repository_frozen, refusal, repository_get
from repositories.services import (
    Observation,
    inspections_sweep,
    observe_repository_id,
    repository_inspected,
    repository_inspection_failed,
    repository_register,
)
from syncova_project.access.models import AuditEntry
from syncova_project.errors import ValidationFailedError
from tests import canaries
from tests.repositories import doorbells
from tests.repositories.builders import NOW, make_repository, new_id, random_hex

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _recording_doorbell(settings: Any) -> Iterator[None]:
    settings.SYNCOVA_INSPECT = "tests.repositories.doorbells.ring"
    doorbells.RUNG.clear()
    yield
    doorbells.RUNG.clear()


def register(**fields: Any) -> Repository:
    values: dict[str, Any] = {
        "name": "vault",
        "location": "/srv/vault",
        "password": canaries.repository_password("registered").encode(),
        "actor": "alice",
        "now": NOW,
    }
    return repository_register(**(values | fields))


def test_registering_asks_the_group_once_it_has_committed(django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        repository = register(worker_group="NAS")
        assert doorbells.RUNG == []
    assert [(repository.id, "nas")] == doorbells.RUNG
    assert accepts_backups(repository_get(repository.id)) == (
        False,
        "It was not opened yet: a worker of group 'nas' has to open it once "
        f"(they were asked last at {NOW:%H:%M:%S} UTC, and are again 60 s later until one answers).",
    )


def test_a_broker_that_fails_does_not_undo_the_registration(
    django_capture_on_commit_callbacks: Any, settings: Any
) -> None:
    settings.SYNCOVA_INSPECT = "tests.repositories.doorbells.broken"
    with django_capture_on_commit_callbacks(execute=True):
        register()
    assert Repository.objects.count() == 1


def test_an_unanswered_registration_is_rung_for_again(django_capture_on_commit_callbacks: Any) -> None:
    repository = register()
    later = NOW + dt.timedelta(seconds=61)
    with django_capture_on_commit_callbacks(execute=True):
        assert inspections_sweep(now=NOW + dt.timedelta(seconds=30)) == 0
        assert inspections_sweep(now=later) == 1
        assert inspections_sweep(now=later) == 0
    assert doorbells.RUNG[-1] == (repository.id, "default")


def test_the_first_opening_adopts_the_id_and_makes_it_accept_backups() -> None:
    """A10, E7."""
    repository, adopted = register(), random_hex()
    repository_inspected(repository_id=repository.id, repository_hex=adopted, now=NOW)
    opened = repository_get(repository.id)
    assert (opened.state, opened.repository_id, opened.observed_repository_id) == ("active", adopted, adopted)
    assert accepts_backups(opened) == (True, "")
    assert AuditEntry.objects.filter(action="repository.adopt", subject_id=str(repository.id)).count() == 1


def test_a_failed_opening_says_why_and_can_be_tried_again() -> None:
    repository = register(password=b"wrong")
    repository_inspection_failed(
        repository_id=repository.id, code="WRONG_PASSWORD", message="No key slot opens.", now=NOW
    )
    failed = repository_get(repository.id)
    refused = refusal(failed)
    assert refused is not None
    assert (refused.code, refused.reason) == ("REPOSITORY_FAILED", "It could not be opened: No key slot opens.")
    again = register(name="VAULT", password=b"right", location="/srv/moved")
    assert again.id == repository.id
    access = repository_access(repository_id=again.id)
    assert (access.password, access.location, access.expected_id) == (b"right", "/srv/moved", None)
    assert repository_get(again.id).state == "registering"


def test_a_late_failure_does_not_take_an_opened_repository_back() -> None:
    repository = make_repository()
    repository_inspection_failed(repository_id=repository.id, code="REPOSITORY_ERROR", message="late", now=NOW)
    assert repository_get(repository.id).state == "active"


def test_a_second_row_of_the_same_repository_fails() -> None:
    """Who reads why may not see the other row: neither the reason nor the trail has its name."""
    first = make_repository(name="secret one", worker_group="beta")
    second = register(name="second")
    assert first.repository_id is not None
    repository_inspected(repository_id=second.id, repository_hex=first.repository_id, now=NOW)
    failed = repository_get(second.id)
    assert (failed.state, failed.state_code) == ("failed", "REPOSITORY_ALREADY_REGISTERED")
    assert first.repository_id in failed.state_reason
    told = [failed.state_reason, str(refusal(failed)), *map(str, AuditEntry.objects.values_list("details", flat=True))]
    assert [text for text in told if "secret" in text] == []


def test_a_swapped_medium_is_recorded_and_freezes_the_repository() -> None:
    """A10: the caller goes on; G5: what comes after it is frozen."""
    repository, other, run_id = make_repository(), random_hex(), new_id()
    seen = observe_repository_id(repository_id=repository.id, observed_hex=other, run_id=run_id, now=NOW)
    assert seen is Observation.SWAPPED
    row = repository_get(repository.id)
    assert (row.repository_id, row.observed_repository_id) == (repository.repository_id, other)
    assert is_repository_frozen(repository.id)
    freeze = row.freezes.get()
    assert (freeze.run_id, freeze.frozen_by) == (run_id, "system")
    assert other in freeze.reason
    observe_repository_id(repository_id=repository.id, observed_hex=other, run_id=run_id, now=NOW)
    assert row.freezes.count() == 1


def test_the_same_id_is_no_news() -> None:
    repository = make_repository()
    assert repository.repository_id is not None
    seen = observe_repository_id(
        repository_id=repository.id, observed_hex=repository.repository_id, run_id=None, now=NOW
    )
    assert seen is Observation.SAME
    assert not is_repository_frozen(repository.id)


def test_a_repository_without_a_password_is_refused(settings: Any) -> None:
    """A5: at set-up, not at 2 a.m."""
    with pytest.raises(EncryptionRequiredError):
        register(password=b"")
    settings.SYNCOVA_ALLOW_UNENCRYPTED = True
    assert repository_access(repository_id=register(password=b"").id).password == b""


def test_the_password_is_in_no_column_entry_or_repr() -> None:
    repository = register(password=b"CANARY-7f3a")
    row = Repository.objects.filter(pk=repository.id).values_list().get()
    held = [bytes(value) if isinstance(value, memoryview) else repr(value).encode() for value in row]
    assert not any(b"CANARY-7f3a" in value for value in held)
    assert "CANARY-7f3a" not in repr(list(AuditEntry.objects.values_list()))
    assert "CANARY-7f3a" not in repr(repository_access(repository_id=repository.id))


def test_names_and_locations_are_taken_once() -> None:
    register()
    with pytest.raises(RepositoryNameTakenError):
        register(name="Vault", location="/srv/other")
    with pytest.raises(RepositoryRegisteredError):
        register(name="other", location="//srv/./vault/")


@pytest.mark.parametrize("location", ["", "relative", "/nul\0", "/" + "a" * 5000])
def test_a_location_is_an_absolute_path(location: str) -> None:
    with pytest.raises(ValidationFailedError):
        register(location=location)


@pytest.mark.parametrize(
    "location",
    [
        "b2://bucket/prefix",
        "s3:bucket",
        "user@host:path",
        "C:\\\\b",
        "rest:http://user:secret@host",
    ],
)
def test_a_location_that_cannot_be_opened_is_refused_without_quoting_it(location: str) -> None:
    with pytest.raises(LocationNotAvailableError) as caught:
        register(location=location)
    assert "secret" not in f"{caught.value.message} {caught.value.hint} {caught.value.details}"


@pytest.mark.parametrize(
    "location",
    [
        "sftp://user:secret@host/path",
        "webdavs://user:secret@host/path",
        "s3://key:secret@bucket/prefix",
        "s3://bucket/prefix?secret_access_key=secret",
        "s3://bucket/prefix?endpoint=https://key:secret@host",
        "sftp://host/secret",
        "webdavs://host/a/../secret",
        "s3://b/secret",
    ],
)
def test_a_remote_location_with_a_secret_or_a_mistake_is_refused_without_quoting_it(location: str) -> None:
    """4.8: nothing of it is kept either."""
    with pytest.raises(ValidationFailedError) as caught:
        register(location=location)
    assert caught.value.details["location"]
    assert "secret" not in f"{caught.value.message} {caught.value.hint} {caught.value.details}"
    assert not Repository.objects.exists()
    assert "secret" not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize(
    ("location", "stored"),
    [
        ("s3://bucket/prefix/?region=eu-1&endpoint=HOST", "s3://bucket/prefix?endpoint=https://host&region=eu-1"),
        ("WEBDAVS://Me@HOST/a%20b/", "webdavs://Me@host/a%20b"),
        ("sftp://me@Host:22/srv", "sftp://me@host:22/srv"),
    ],
)
def test_a_remote_location_is_stored_in_one_form(location: str, stored: str) -> None:
    """4.6: so that the same place is registered once."""
    assert register(location=location).location == stored
    with pytest.raises(RepositoryRegisteredError):
        register(name="other", location=stored)


@pytest.mark.parametrize(
    "fields", [{"name": " "}, {"name": "n" * 201}, {"name": "a\0"}, {"worker_group": "a b"}, {"worker_group": "a\n"}]
)
def test_labels_are_checked(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailedError):
        register(**fields)


def test_an_unknown_repository_is_named() -> None:
    with pytest.raises(RepositoryUnknownError) as caught:
        repository_get(uuid.UUID(int=7))
    assert str(uuid.UUID(int=7)) in caught.value.message
