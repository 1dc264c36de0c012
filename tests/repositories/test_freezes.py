"""The freeze journal: setting twice is harmless, clearing closes all, asking fails closed (G1, G2, G4)."""

import datetime as dt
import threading
import time
import uuid
from dataclasses import replace

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from repositories.errors import RepositoryUnknownError
from repositories.freezing import repository_freeze, repository_unfreeze
from repositories.models import Repository
from repositories.selectors import (
    accepts_backups,
    is_repository_frozen,
    refusal,
    repositories_visible,
    repository_get,
)
from repositories.services import BackupReference, backup_record, fence_confirm, fence_intend
from syncova_project.access.models import AuditEntry
from tests.repositories.builders import NOW, make_repository, new_id, random_hex

pytestmark = pytest.mark.django_db


def test_freezing_twice_is_harmless_and_clearing_closes_every_row() -> None:
    repository = make_repository()
    repository_freeze(repository_id=repository.id, reason="check failed", actor="alice", now=NOW)
    repository_freeze(repository_id=repository.id, reason="check failed", actor="alice", now=NOW)
    repository_freeze(repository_id=repository.id, reason="lost data", run_id=new_id(), now=NOW)
    assert repository.freezes.count() == 2
    assert is_repository_frozen(repository.id)
    assert repository_unfreeze(repository_id=repository.id, actor="bob", now=NOW) == 2
    assert repository_unfreeze(repository_id=repository.id, actor="bob", now=NOW) == 0
    assert not is_repository_frozen(repository.id)
    assert list(repository.freezes.values_list("cleared_by", flat=True)) == ["bob", "bob"]
    actions = list(AuditEntry.objects.order_by("id").values_list("action", flat=True))
    assert actions == ["repository.freeze", "repository.freeze", "repository.unfreeze"]


def test_the_reason_tells_since_when_and_why() -> None:
    repository = make_repository()
    repository_freeze(repository_id=repository.id, reason="lost data", now=NOW)
    later = NOW + dt.timedelta(hours=1)
    repository_freeze(repository_id=repository.id, reason="later", now=later)
    refused = refusal(repository_get(repository.id))
    assert refused is not None
    assert refused.code == "REPOSITORY_FROZEN"
    assert refused.reason == "It is frozen since 2026-11-30 02:00:00 UTC: lost data"
    assert accepts_backups(Repository.objects.get(pk=repository.id)) == (False, refused.reason)


def test_clearing_before_the_freeze_by_a_slow_clock_is_still_valid() -> None:
    repository = make_repository()
    repository_freeze(repository_id=repository.id, reason="lost data", now=NOW)
    assert repository_unfreeze(repository_id=repository.id, actor="bob", now=NOW - dt.timedelta(hours=1)) == 1


def test_a_long_reason_with_nul_is_cut_to_what_the_journal_takes() -> None:
    repository = make_repository()
    repository_freeze(repository_id=repository.id, reason="a\0" + "ä" * 600, now=NOW)
    assert repository.freezes.get().reason == "a" + "ä" * 499


def test_an_unknown_repository_cannot_be_frozen() -> None:
    with pytest.raises(RepositoryUnknownError):
        repository_freeze(repository_id=uuid.UUID(int=1), reason="x", now=NOW)


def test_asking_fails_closed() -> None:
    """G2: an error means frozen."""
    repository = make_repository()
    assert not is_repository_frozen(repository.id)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE repository_freezes RENAME TO hidden")
    assert is_repository_frozen(repository.id)


def test_lists_cost_two_queries_whatever_their_length() -> None:
    for _ in range(5):
        repository_freeze(repository_id=make_repository().id, reason="x", now=NOW)
    with CaptureQueriesContext(connection) as queries:
        assert [accepts_backups(repository)[0] for repository in repositories_visible()] == [False] * 5
    assert len(queries) == 2


def test_fences_only_rise() -> None:
    repository = make_repository()
    for fence in (5, 3):
        fence_intend(repository_id=repository.id, fence=fence)
        fence_confirm(repository_id=repository.id, fence=fence)
    row = Repository.objects.get(pk=repository.id)
    assert (row.fence_intended, row.fence_confirmed) == (5, 5)


def test_a_backup_reported_twice_is_one_row() -> None:
    """A9: the row is a reference."""
    repository, run_id = make_repository(), new_id()
    reference = BackupReference(
        backup_id=f"run-{run_id}-home-0a1b2c3d",
        repository_id=repository.id,
        run_id=run_id,
        manifest_id=random_hex(),
        chain=random_hex(),
        mode="full",
        logical_bytes=1,
        bytes_read=1,
        bytes_stored=1,
        files=1,
        skipped=0,
        warnings=0,
    )
    first = backup_record(reference=reference, now=NOW)
    assert backup_record(reference=reference, now=NOW + dt.timedelta(hours=1)).pk == first.pk
    assert repository.backups.get().created_at == NOW
    # Indexed again between the commit and its report: such a row does not know whose it is.
    job, task = new_id(), new_id()
    own = replace(reference, job_id=job, task_run_id=task)
    backup_record(reference=own, now=NOW)
    backup_record(reference=replace(reference, job_id=new_id(), task_run_id=new_id()), now=NOW)
    row = repository.backups.get()
    assert (row.pk, row.job_id, row.task_run_id) == (first.pk, job, task)


@pytest.mark.django_db(transaction=True)
def test_freezing_waits_for_who_starts_on_the_repository() -> None:
    """Execution.md, section 2: both lock the repository's row, so after the answer nothing starts."""
    repository = make_repository()
    frozen = threading.Event()

    def freeze() -> None:
        try:
            repository_freeze(repository_id=repository.id, reason="x", now=NOW)
            frozen.set()
        finally:
            connection.close()

    thread = threading.Thread(target=freeze)
    with transaction.atomic():
        Repository.objects.select_for_update(no_key=True).get(pk=repository.id)
        thread.start()
        _wait_for_a_blocked_backend()
        assert not frozen.is_set()
    thread.join(30)
    assert frozen.is_set()


def _wait_for_a_blocked_backend() -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
        time.sleep(0.02)
    pytest.fail("nobody waits for the lock")
