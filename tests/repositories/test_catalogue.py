"""The catalogue of backups: found by an index, rebuilt from what a repository lists, however odd that is (H3, A9)."""

import datetime as dt
import uuid
from dataclasses import replace

import pytest
from django.db import connection

from repositories.backup_listing import backups_matching
from repositories.catalogue import (
    ListedBackup,
    backups_by_manifest,
    catalogue_rebuild,
)
from repositories.models import Backup
from tests.repositories.builders import NOW, make_backup, make_repository, random_hex

pytestmark = pytest.mark.django_db


def listed(backup_id: str, **changes: object) -> ListedBackup:
    plain = ListedBackup(
        backup_id=backup_id,
        manifest_id=random_hex(),
        chain="chain",
        mode="full",
        parent=None,
        run_id=uuid.uuid4(),
        source_id=uuid.uuid4(),
        source_name="/home",
        source_type="filesystem",
        host="alpha",
        trigger="schedule",
        scheduled_for=NOW,
        received_at=NOW,
        logical_bytes=1,
        bytes_read=1,
        bytes_stored=1,
        files=1,
        skipped=0,
        warnings=0,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_one_that_no_row_can_hold_stops_no_other() -> None:
    repository = make_repository()
    odd = [
        listed("../../passwd"),
        listed("huge", logical_bytes=2**63),
        listed("nul", source_name="a\0b"),
        listed("orphan", mode="incremental"),
    ]
    done = catalogue_rebuild(
        repository_id=repository.id, listed=[*odd, listed("good"), listed("good")], gone=[], now=NOW
    )
    assert (done.added, done.kept, done.removed) == (1, 0, 0)
    assert set(done.refused) == {"../../passwd", "huge", "nul", "orphan"}
    row = Backup.objects.get()
    assert (row.backup_id, row.created_at, row.is_late) == ("good", NOW, False)


def test_a_row_keeps_its_id_and_what_only_the_database_knows() -> None:
    repository, job, task = make_repository(), uuid.uuid4(), uuid.uuid4()
    row = make_backup(repository, backup_id="kept", job_id=job, task_run_id=task)
    stranger = make_backup(make_repository(), backup_id="gone")
    lost = make_backup(repository, backup_id="gone")
    make_backup(repository, backup_id="completed-meanwhile")
    told = listed("kept", received_at=NOW + dt.timedelta(days=9))
    done = catalogue_rebuild(repository_id=repository.id, listed=[told], gone=["gone", "kept"], now=NOW)
    assert (done.added, done.kept, done.gone, done.refused) == (0, 2, (("gone", lost.run_id),), ())
    assert Backup.objects.filter(backup_id="completed-meanwhile").exists()
    after = Backup.objects.get(pk=row.pk)
    assert (after.job_id, after.task_run_id, after.created_at) == (job, task, row.created_at)
    assert (after.manifest_id, after.run_id, after.host) == (told.manifest_id, told.run_id, "alpha")
    assert Backup.objects.filter(pk=stranger.pk).exists()


def test_manifests_are_found_by_id_job_and_source_newest_first() -> None:
    """H3."""
    repository, job, source = make_repository(), uuid.uuid4(), uuid.uuid4()
    rows = [
        make_backup(
            repository, backup_id=f"b{day}", job_id=job, source_id=source, created_at=NOW + dt.timedelta(days=day)
        )
        for day in range(3)
    ]
    for number in range(200):
        make_backup(repository, backup_id=f"other-{number}", job_id=uuid.uuid4())
    by_manifest = backups_by_manifest(rows[1].manifest_id)
    for of in ({"job": job}, {"source": source}):
        found = backups_matching(of).order_by("-created_at", "-id")
        assert [each.backup_id for each in found] == ["b2", "b1", "b0"]
    assert [each.pk for each in by_manifest] == [rows[1].pk]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE backups")
        cursor.execute("SET LOCAL enable_seqscan = off")
    of_job = backups_matching({"job": job}).order_by("-created_at", "-id")
    for found, index in ((of_job, "backups_by_job"), (by_manifest, "backups_by_manifest")):
        assert index in found.explain()
