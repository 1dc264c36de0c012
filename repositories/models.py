"""Rows of repositories: where one lies, how it opens, whether it is frozen, and which backups it was seen to hold.

Owns what the database must hold about them. A row is a reference: the repository itself is the truth (A9), and
nothing here is needed to list, check or restore it. Rules that need more than one row live in services.
"""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import MD5, Length, Lower

from repositories.engine.display import show_text
from repositories.lookup_rows import RepositoryLookup as RepositoryLookup

models.TextField.register_lookup(Length)
models.BinaryField.register_lookup(Length)

HEX_ID = r"^[0-9a-f]{32}$"
# A group's name is part of its queues' names.
WORD = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"


class RepositoryState(models.TextChoices):
    """How far a repository is known: frozen is no state but an open row of the journal (G1)."""

    REGISTERING = "registering", "Registering"
    ACTIVE = "active", "Active"
    FAILED = "failed", "Failed to open"


class Repository(models.Model):
    """One registered repository; `repository_id` is its own id, adopted at the first opening (A10)."""

    id = models.UUIDField(primary_key=True, editable=False)
    name = models.TextField()
    location = models.TextField()
    worker_group = models.TextField(default="default")
    sealed_password = models.BinaryField()
    state = models.TextField(choices=RepositoryState.choices, default=RepositoryState.REGISTERING)
    state_code = models.TextField(blank=True, default="")
    state_reason = models.TextField(blank=True, default="")
    repository_id = models.TextField(null=True, blank=True)  # noqa: DJ001 - unknown until opened
    observed_repository_id = models.TextField(null=True, blank=True)  # noqa: DJ001 - unknown until opened
    observed_at = models.DateTimeField(null=True, blank=True)
    # Why the last run could not open it; empty once one could. It still takes runs, so that one can find it again.
    trouble_code = models.TextField(blank=True, default="")
    trouble_reason = models.TextField(blank=True, default="")
    trouble_at = models.DateTimeField(null=True, blank=True)
    max_concurrent_runs = models.PositiveIntegerField(default=1)
    serial_gate = models.BooleanField(default=False)
    fence_intended = models.BigIntegerField(default=0)
    fence_confirmed = models.BigIntegerField(default=0)
    # This database's turn as the repository's control plane: it rises when one restored from a dump takes over.
    epoch = models.PositiveIntegerField(default=1, db_default=1)
    # The database may know less than the repository (it was restored from a dump): nothing is planned or deleted.
    reindex_wanted_at = models.DateTimeField(null=True, blank=True)
    reindex_reason = models.TextField(blank=True, default="", db_default="")
    reindexed_at = models.DateTimeField(null=True, blank=True)
    inspection_rung_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "repositories"
        ordering = [Lower("name")]
        verbose_name_plural = "repositories"
        constraints = [
            models.UniqueConstraint(Lower("name"), name="repositories_name_is_unique"),
            # Hashed because a path may be longer than a row of an index.
            models.UniqueConstraint("worker_group", MD5("location"), name="repositories_location_is_registered_once"),
            models.UniqueConstraint(
                name="repositories_adopted_id_is_unique",
                fields=["repository_id"],
                condition=Q(repository_id__isnull=False),
            ),
            models.CheckConstraint(
                name="repositories_name_has_1_to_200_chars", condition=Q(name__regex=r"\S") & Q(name__length__lte=200)
            ),
            models.CheckConstraint(name="repositories_location_is_not_blank", condition=Q(location__regex=r"\S")),
            models.CheckConstraint(name="repositories_group_is_a_word", condition=Q(worker_group__regex=WORD)),
            # Version, key id, nonce and tag of the vault make 33 bytes before the first byte of any password.
            models.CheckConstraint(
                name="repositories_password_is_sealed", condition=Q(sealed_password__length__gte=33)
            ),
            models.CheckConstraint(name="repositories_state_is_known", condition=Q(state__in=RepositoryState.values)),
            models.CheckConstraint(
                name="repositories_failed_has_a_reason",
                condition=~Q(state=RepositoryState.FAILED) | (Q(state_code__gt="") & Q(state_reason__gt="")),
            ),
            models.CheckConstraint(
                name="repositories_active_has_adopted_an_id",
                condition=~Q(state=RepositoryState.ACTIVE) | Q(repository_id__isnull=False),
            ),
            models.CheckConstraint(
                name="repositories_adopted_id_is_hex",
                condition=Q(repository_id__isnull=True) | Q(repository_id__regex=HEX_ID),
            ),
            models.CheckConstraint(
                name="repositories_observed_id_has_a_time",
                condition=Q(observed_repository_id__isnull=True, observed_at__isnull=True)
                | Q(observed_repository_id__isnull=False, observed_at__isnull=False),
            ),
            models.CheckConstraint(
                name="repositories_trouble_has_a_time",
                condition=Q(trouble_at__isnull=True, trouble_code="")
                | Q(trouble_at__isnull=False, trouble_code__gt=""),
            ),
            models.CheckConstraint(name="repositories_run_limit_is_positive", condition=Q(max_concurrent_runs__gte=1)),
            models.CheckConstraint(
                name="repositories_confirmed_fence_was_intended",
                condition=Q(fence_confirmed__gte=0) & Q(fence_intended__gte=F("fence_confirmed")),
            ),
            models.CheckConstraint(name="repositories_epoch_is_positive", condition=Q(epoch__gte=1)),
            models.CheckConstraint(
                name="repositories_reindex_says_why",
                condition=Q(reindex_wanted_at__isnull=True, reindex_reason="")
                | Q(reindex_wanted_at__isnull=False, reindex_reason__gt=""),
            ),
        ]

    def __str__(self) -> str:
        return show_text(self.name)


class RepositoryFreeze(models.Model):
    """One row of the freeze journal (G1): a repository is frozen while any of its rows has no `cleared_at`.

    Append-only: a trigger refuses deletion, truncation and every change but the one that clears an open row.
    """

    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="freezes")
    frozen_at = models.DateTimeField()
    frozen_by = models.TextField()
    reason = models.TextField()
    run_id = models.UUIDField(null=True, blank=True)
    cleared_at = models.DateTimeField(null=True, blank=True)
    cleared_by = models.TextField(blank=True, default="")

    class Meta:
        db_table = "repository_freezes"
        ordering = ["-id"]
        indexes = [
            models.Index(name="repository_freezes_open", fields=["repository"], condition=Q(cleared_at__isnull=True))
        ]
        constraints = [
            models.UniqueConstraint(
                name="repository_freezes_open_once_per_cause",
                fields=["repository", "run_id", "reason"],
                condition=Q(cleared_at__isnull=True),
                nulls_distinct=False,
            ),
            # The length keeps the unique index's rows below a page, whatever the reason quotes.
            models.CheckConstraint(
                name="repository_freezes_reason_has_1_to_500_chars",
                condition=Q(reason__regex=r"\S") & Q(reason__length__lte=500),
            ),
            models.CheckConstraint(name="repository_freezes_actor_is_not_blank", condition=Q(frozen_by__regex=r"\S")),
            models.CheckConstraint(
                name="repository_freezes_cleared_says_by_whom",
                condition=Q(cleared_at__isnull=True, cleared_by="") | Q(cleared_at__isnull=False, cleared_by__gt=""),
            ),
            models.CheckConstraint(
                name="repository_freezes_cleared_after_frozen",
                condition=Q(cleared_at__isnull=True) | Q(cleared_at__gte=F("frozen_at")),
            ),
        ]

    def __str__(self) -> str:
        return show_text(self.reason)


class RepositoryMemory(models.Model):
    """What workers have seen of a repository, in the engine's words: how an earlier state of it is known.

    `is_contradicted`: one was seen, and nobody has confirmed it yet.
    """

    repository = models.OneToOneField(Repository, primary_key=True, on_delete=models.CASCADE, related_name="memory")
    state = models.JSONField()
    seen_at = models.DateTimeField()
    is_contradicted = models.BooleanField(default=False)

    class Meta:
        db_table = "repository_memories"
        verbose_name_plural = "repository memories"

    def __str__(self) -> str:
        return str(self.pk)


class BackupMode(models.TextChoices):
    """Whether a backup had a parent to compare with (A7)."""

    FULL = "full", "Full"
    INCREMENTAL = "incremental", "Incremental"


class Backup(models.Model):
    """Where the manifest of one backup lies, with its figures (A9, H3): never a copy, rebuilt from the repository.

    `run_id`, `task_run_id`, `source_id` and `job_id` are plain values: their rows belong to an app that imports this
    one, and may be lost. `run_id` is None where no control plane made the backup. `is_late`: it was completed when its
    run had ended without it.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    backup_id = models.TextField()
    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="backups")
    run_id = models.UUIDField(null=True, blank=True)
    task_run_id = models.UUIDField(null=True, blank=True)
    source_id = models.UUIDField(null=True, blank=True)
    job_id = models.UUIDField(null=True, blank=True)
    source_name = models.TextField(blank=True, default="")
    manifest_id = models.TextField()
    parent = models.TextField(null=True, blank=True)  # noqa: DJ001 - a full backup has none
    chain = models.TextField()
    mode = models.TextField(choices=BackupMode.choices)
    logical_bytes = models.BigIntegerField()
    bytes_read = models.BigIntegerField()
    bytes_stored = models.BigIntegerField()
    files = models.BigIntegerField()
    skipped = models.BigIntegerField()
    warnings = models.BigIntegerField()
    host = models.TextField(blank=True, default="", db_default="")
    source_type = models.TextField(blank=True, default="", db_default="")
    trigger = models.TextField(blank=True, default="", db_default="")
    scheduled_for = models.DateTimeField(null=True, blank=True)
    is_late = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "backups"
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(name="backups_by_age", fields=["repository", "-created_at", "-id"]),
            models.Index(name="backups_newest", fields=["-created_at", "-id"]),
            models.Index(name="backups_partial", fields=["-created_at", "-id"], condition=Q(skipped__gt=0)),
            models.Index(name="backups_by_run", fields=["run_id"]),
            models.Index(name="backups_by_source", fields=["source_id", "-created_at"]),
            models.Index(name="backups_by_job", fields=["job_id", "-created_at"]),
            models.Index(name="backups_by_manifest", fields=["manifest_id"]),
        ]
        constraints = [
            models.UniqueConstraint(name="backups_id_is_unique_in_repository", fields=["repository", "backup_id"]),
            models.CheckConstraint(
                name="backups_id_is_a_safe_name", condition=Q(backup_id__regex=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
            ),
            models.CheckConstraint(name="backups_manifest_id_is_hex", condition=Q(manifest_id__regex=HEX_ID)),
            models.CheckConstraint(name="backups_mode_is_known", condition=Q(mode__in=BackupMode.values)),
            models.CheckConstraint(
                name="backups_incremental_has_a_parent",
                condition=Q(mode=BackupMode.FULL) | Q(parent__isnull=False),
            ),
            models.CheckConstraint(
                name="backups_figures_are_not_negative",
                condition=Q(logical_bytes__gte=0)
                & Q(bytes_read__gte=0)
                & Q(bytes_stored__gte=0)
                & Q(files__gte=0)
                & Q(skipped__gte=0)
                & Q(warnings__gte=0),
            ),
        ]

    def __str__(self) -> str:
        return self.backup_id
