"""PostgreSQL refuses bad rows of repositories, of the freeze journal and of backups (D2, G1)."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection, models

from repositories.models import Backup, Repository, RepositoryFreeze
from tests.refusals import refused_by
from tests.repositories.builders import NOW, make_backup, make_repository, new_id, random_hex

pytestmark = pytest.mark.django_db


def make_freeze(repository: Repository, **fields: Any) -> RepositoryFreeze:
    values = {"repository": repository, "frozen_at": NOW, "frozen_by": "alice", "reason": "lost data"}
    return RepositoryFreeze.objects.create(**(values | fields))


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("repositories_name_has_1_to_200_chars", {"name": " "}),
        ("repositories_name_has_1_to_200_chars", {"name": "n" * 201}),
        ("repositories_location_is_not_blank", {"location": ""}),
        ("repositories_group_is_a_word", {"worker_group": "a group"}),
        ("repositories_password_is_sealed", {"sealed_password": b"a password"}),
        ("repositories_state_is_known", {"state": "broken"}),
        ("repositories_failed_has_a_reason", {"state": "failed"}),
        ("repositories_failed_has_a_reason", {"state": "failed", "state_code": "WRONG_PASSWORD"}),
        ("repositories_active_has_adopted_an_id", {"repository_id": None}),
        ("repositories_adopted_id_is_hex", {"repository_id": "Z" * 32}),
        ("repositories_observed_id_has_a_time", {"observed_repository_id": "0" * 32}),
        ("repositories_trouble_has_a_time", {"trouble_code": "REPOSITORY_NOT_FOUND"}),
        ("repositories_trouble_has_a_time", {"trouble_at": NOW}),
        ("repositories_run_limit_is_positive", {"max_concurrent_runs": 0}),
        ("repositories_confirmed_fence_was_intended", {"fence_intended": 1, "fence_confirmed": 2}),
        ("repositories_confirmed_fence_was_intended", {"fence_confirmed": -1, "fence_intended": -1}),
        ("repositories_epoch_is_positive", {"epoch": 0}),
        ("repositories_reindex_says_why", {"reindex_wanted_at": NOW}),
        ("repositories_reindex_says_why", {"reindex_reason": "restored"}),
    ],
)
def test_a_bad_repository_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    with refused_by(constraint):
        make_repository(**fields)


def test_names_differ_by_more_than_case() -> None:
    make_repository(name="Vault")
    with refused_by("repositories_name_is_unique"):
        make_repository(name="vAULT")


def test_a_location_is_registered_once_per_group() -> None:
    make_repository(location="/srv/one")
    make_repository(location="/srv/one", worker_group="other")
    with refused_by("repositories_location_is_registered_once"):
        make_repository(location="/srv/one")


def test_a_very_long_location_fits_its_index() -> None:
    make_repository(location="/" + "ä" * 4000)


def test_one_row_adopts_an_id() -> None:
    adopted = random_hex()
    make_repository(repository_id=adopted)
    with refused_by("repositories_adopted_id_is_unique"):
        make_repository(repository_id=adopted)


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("repository_freezes_reason_has_1_to_500_chars", {"reason": " "}),
        ("repository_freezes_reason_has_1_to_500_chars", {"reason": "r" * 501}),
        ("repository_freezes_actor_is_not_blank", {"frozen_by": ""}),
        ("repository_freezes_cleared_says_by_whom", {"cleared_at": NOW}),
        ("repository_freezes_cleared_says_by_whom", {"cleared_by": "bob"}),
        (
            "repository_freezes_cleared_after_frozen",
            {"cleared_at": NOW - dt.timedelta(seconds=1), "cleared_by": "bob"},
        ),
    ],
)
def test_a_bad_freeze_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    repository = make_repository()
    with refused_by(constraint):
        make_freeze(repository, **fields)


@pytest.mark.parametrize("run_id", [None, new_id()])
def test_a_cause_is_open_once(run_id: Any) -> None:
    repository = make_repository()
    freeze = make_freeze(repository, run_id=run_id)
    make_freeze(repository, run_id=run_id, reason="another")
    with refused_by("repository_freezes_open_once_per_cause"):
        make_freeze(repository, run_id=run_id)
    RepositoryFreeze.objects.filter(pk=freeze.pk).update(cleared_at=NOW, cleared_by="bob")
    make_freeze(repository, run_id=run_id)


@pytest.mark.parametrize(
    "change",
    [
        {"reason": "nothing happened"},
        {"frozen_by": "mallory"},
        {"frozen_at": NOW - dt.timedelta(days=1)},
        {"run_id": new_id()},
        {"reason": "nothing happened", "cleared_at": NOW, "cleared_by": "bob"},
    ],
)
def test_the_journal_takes_no_change_but_clearing(change: dict[str, Any]) -> None:
    """G1: append-only."""
    freeze = make_freeze(make_repository())
    with refused_by("repository_freezes_is_append_only"):
        RepositoryFreeze.objects.filter(pk=freeze.pk).update(**change)


def test_a_cleared_row_of_the_journal_is_final() -> None:
    """G1: append-only."""
    freeze = make_freeze(make_repository(), cleared_at=NOW, cleared_by="bob")
    for change in ({"cleared_at": None, "cleared_by": ""}, {"cleared_by": "mallory"}, {"cleared_at": NOW}):
        with refused_by("repository_freezes_is_append_only"):
            RepositoryFreeze.objects.filter(pk=freeze.pk).update(**change)


def test_the_journal_is_never_deleted_from_or_truncated() -> None:
    """G1: append-only."""
    freeze = make_freeze(make_repository())
    with refused_by("repository_freezes_is_append_only"):
        freeze.delete()
    with refused_by("repository_freezes_is_append_only"), connection.cursor() as cursor:
        # Else the deferred foreign keys of the rows above refuse it first.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("TRUNCATE repository_freezes")


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("backups_id_is_a_safe_name", {"backup_id": "../../etc/passwd"}),
        ("backups_id_is_a_safe_name", {"backup_id": ".hidden"}),
        ("backups_id_is_a_safe_name", {"backup_id": "a" * 65}),
        ("backups_manifest_id_is_hex", {"manifest_id": "x"}),
        ("backups_mode_is_known", {"mode": "mirror", "parent": "a"}),
        ("backups_incremental_has_a_parent", {"mode": "incremental"}),
        ("backups_figures_are_not_negative", {"skipped": -1}),
        ("backups_figures_are_not_negative", {"logical_bytes": -1}),
    ],
)
def test_a_bad_backup_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    repository = make_repository()
    with refused_by(constraint):
        make_backup(repository, **fields)


def test_a_backup_id_is_unique_in_its_repository() -> None:
    repository = make_repository()
    backup = make_backup(repository)
    make_backup(make_repository(), backup_id=backup.backup_id)
    with refused_by("backups_id_is_unique_in_repository"):
        make_backup(repository, backup_id=backup.backup_id)


def test_every_constraint_of_the_app_is_named_by_its_table() -> None:
    tables: list[type[models.Model]] = [Repository, RepositoryFreeze, Backup]
    for model in tables:
        for constraint in model._meta.constraints:
            assert constraint.name.startswith(model._meta.db_table + "_")
