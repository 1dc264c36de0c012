"""Rows of access control: tokens, what people see, the audit trail and its seals, idempotency keys.

Owns what the database must hold about them. Holds no rule of its own: services write, triggers of the migrations
refuse any change of the audit trail and of its seals.
"""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Length

from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.visibility import Details, details_seen
from syncova_project.log import single_line

models.TextField.register_lookup(Length)
models.BinaryField.register_lookup(Length)


class ApiToken(models.Model):
    """A bearer token: its public prefix finds the row, its digest proves it; the secret itself is kept nowhere.

    `user` is whose token it is, if a person made it; `parent` is the token that it was made with.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="children")
    name = models.TextField()
    prefix = models.TextField(unique=True)
    digest = models.BinaryField()
    scopes = ArrayField(models.TextField())
    # Whose repositories it sees; null is all.
    worker_groups = ArrayField(models.TextField(), null=True, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "api_tokens"
        ordering = ["-id"]
        # The same rights, for people and their groups: `access.jobs.read` and so on.
        permissions = [(scope, scope) for scope in ALL_SCOPES]
        constraints = [
            models.CheckConstraint(name="api_tokens_name_is_not_blank", condition=Q(name__regex=r"\S")),
            models.CheckConstraint(name="api_tokens_digest_has_32_bytes", condition=Q(digest__length=32)),
            models.CheckConstraint(name="api_tokens_scopes_are_known", condition=Q(scopes__contained_by=ALL_SCOPES)),
            models.CheckConstraint(name="api_tokens_has_a_scope", condition=Q(scopes__len__gt=0)),
            models.CheckConstraint(
                name="api_tokens_sees_a_group",
                condition=Q(worker_groups__isnull=True) | Q(worker_groups__len__gt=0),
            ),
            models.CheckConstraint(
                name="api_tokens_expires_after_creation",
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")),
            ),
        ]

    def __str__(self) -> str:
        return single_line(self.name)


class SightLimit(models.Model):
    """Whose repositories a person, or everybody in a group of people, sees; who has no such row sees all (7.8)."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    # A group that went would take the limit of its members along, and they would see all.
    group = models.OneToOneField("auth.Group", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    worker_groups = ArrayField(models.TextField(), help_text="Names of worker groups, with commas between them.")

    class Meta:
        db_table = "sight_limits"
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                name="sight_limits_of_one",
                condition=Q(user__isnull=False, group__isnull=True) | Q(user__isnull=True, group__isnull=False),
                violation_error_message="Name a person or a group of people, not both.",
            ),
            models.CheckConstraint(name="sight_limits_sees_a_group", condition=Q(worker_groups__len__gt=0)),
        ]

    def __str__(self) -> str:
        return single_line(str(self.user or self.group))


class AuditEntry(models.Model):
    """Who did what to which thing, and from where; written in the acting transaction, never changed."""

    at = models.DateTimeField()
    actor = models.TextField()
    action = models.TextField()
    subject_type = models.TextField()
    subject_id = models.TextField()
    details = models.JSONField(default=dict)
    request_id = models.TextField(blank=True, default="")
    address = models.TextField(blank=True, default="")

    class Meta:
        db_table = "audit_entries"
        ordering = ["-id"]
        verbose_name_plural = "audit entries"
        # What each page of GET /audit is answered from, newest first.
        indexes = [
            models.Index(name="audit_entries_by_time", fields=["-at", "-id"]),
            models.Index(name="audit_entries_by_actor", fields=["actor", "-at", "-id"]),
            models.Index(name="audit_entries_by_action", fields=["action", "-at", "-id"]),
            models.Index(name="audit_entries_of_subject", fields=["subject_type", "subject_id", "-at", "-id"]),
        ]
        constraints = [
            models.CheckConstraint(name="audit_entries_actor_is_not_blank", condition=Q(actor__regex=r"\S")),
            models.CheckConstraint(name="audit_entries_action_is_not_blank", condition=Q(action__regex=r"\S")),
        ]

    def __str__(self) -> str:
        return single_line(f"{self.action} by {self.actor}")

    @property
    def details_seen(self) -> Details:
        """Return the details without the ids that the caller does not see (access.visibility.MASKS)."""
        return details_seen(self.subject_type, [self.details])[0]


class UnsealedEntry(models.Model):
    """An audit entry that waits for its seal; a trigger writes the row together with the entry."""

    entry_id = models.BigIntegerField(primary_key=True)

    class Meta:
        db_table = "audit_unsealed_entries"

    def __str__(self) -> str:
        return str(self.entry_id)


class AuditSeal(models.Model):
    """One link of the chain over the audit trail: an entry's digest, and the hash of the seal before this one.

    No foreign key: that an entry is gone has to be tellable.
    """

    position = models.BigIntegerField(primary_key=True)
    entry_id = models.BigIntegerField(unique=True)
    digest = models.BinaryField()
    previous = models.BinaryField()
    sealed_at = models.DateTimeField()

    class Meta:
        db_table = "audit_seals"
        ordering = ["position"]
        constraints = [
            models.CheckConstraint(name="audit_seals_position_is_positive", condition=Q(position__gt=0)),
            models.CheckConstraint(name="audit_seals_digest_has_32_bytes", condition=Q(digest__length=32)),
            models.CheckConstraint(name="audit_seals_previous_has_32_bytes", condition=Q(previous__length=32)),
        ]

    def __str__(self) -> str:
        return str(self.position)


class AuditSealMark(models.Model):
    """Which seal the log was told, and when: once a day the newest one."""

    position = models.BigIntegerField()
    seal = models.BinaryField()
    told_at = models.DateTimeField()

    class Meta:
        db_table = "audit_seal_marks"
        ordering = ["id"]
        constraints = [models.CheckConstraint(name="audit_seal_marks_seal_has_32_bytes", condition=Q(seal__length=32))]

    def __str__(self) -> str:
        return str(self.position)


class LoginAttempt(models.Model):
    """How many logins failed lately under one key (access.lockout): a digest of a name, an address, or both."""

    key = models.TextField(primary_key=True)
    failures = models.PositiveIntegerField()
    until = models.DateTimeField()

    class Meta:
        db_table = "login_attempts"
        indexes = [models.Index(name="login_attempts_by_end", fields=["until"])]

    def __str__(self) -> str:
        return f"{self.failures} until {self.until}"


class IdempotencyKey(models.Model):
    """The answer that was given to a principal's key; inserted first in the transaction that creates (E5).

    `status` and `answer` are null only inside that transaction; a rolled-back creation leaves no row.
    """

    principal = models.TextField()
    key = models.TextField()
    fingerprint = models.BinaryField()
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    answer = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "idempotency_keys"
        indexes = [models.Index(name="idempotency_keys_by_age", fields=["created_at"])]
        constraints = [
            models.UniqueConstraint(name="idempotency_keys_one_per_principal", fields=["principal", "key"]),
            models.CheckConstraint(
                name="idempotency_keys_fingerprint_has_32_bytes", condition=Q(fingerprint__length=32)
            ),
            models.CheckConstraint(
                name="idempotency_keys_key_has_1_to_255_chars", condition=Q(key__length__range=(1, 255))
            ),
            models.CheckConstraint(
                name="idempotency_keys_only_successes_are_kept",
                condition=Q(status__isnull=True) | Q(status__range=(200, 299)),
            ),
        ]

    def __str__(self) -> str:
        return self.key
