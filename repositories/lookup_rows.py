"""Rows of lookups: what somebody wants to see inside a backup, and what a worker of the group found there.

Owns what the database must hold about them: an answer is bounded and sealed, since it names what a backup holds, and no
row is meant to live longer than minutes. repositories.lookups writes them.
"""

from typing import Final

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Length

MAX_ANSWER_BYTES: Final = 1024 * 1024
MAX_QUESTION: Final = 16 * 1024

models.TextField.register_lookup(Length)
models.BinaryField.register_lookup(Length)


class LookupState(models.TextChoices):
    """How far a lookup is."""

    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    ANSWERED = "answered", "Answered"
    FAILED = "failed", "Failed"


class RepositoryLookup(models.Model):
    """One question about one backup; the same question asked again meanwhile is the same row.

    `question` is the engine's order as JSON text, `worker` the process that looks.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    repository = models.ForeignKey("repositories.Repository", on_delete=models.CASCADE, related_name="lookups")
    backup_id = models.TextField()
    worker_group = models.TextField()
    operation = models.TextField()
    question = models.TextField()
    question_digest = models.TextField()
    state = models.TextField(choices=LookupState.choices, default=LookupState.WAITING)
    worker = models.TextField(blank=True, default="")
    sealed_answer = models.BinaryField(null=True, blank=True)
    error_code = models.TextField(blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    error_hint = models.TextField(blank=True, default="")
    asked_at = models.DateTimeField()
    rung_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "repository_lookups"
        ordering = ["id"]
        indexes = [
            models.Index(
                name="repository_lookups_to_do",
                fields=["worker_group", "id"],
                condition=Q(state__in=["waiting", "running"]),
            ),
            models.Index(name="repository_lookups_by_end", fields=["expires_at"]),
        ]
        constraints = [
            # One that failed may be asked anew.
            models.UniqueConstraint(
                name="repository_lookups_once_per_question",
                fields=["question_digest"],
                condition=~Q(state="failed"),
            ),
            # However many somebody asks for: the other children of that worker are for runs.
            models.UniqueConstraint(
                name="repository_lookups_one_running_per_worker", fields=["worker"], condition=Q(state="running")
            ),
            models.CheckConstraint(name="repository_lookups_state_is_known", condition=Q(state__in=LookupState.values)),
            models.CheckConstraint(
                name="repository_lookups_question_is_bounded",
                condition=Q(question__length__lte=MAX_QUESTION) & Q(operation__in=["browse", "find"]),
            ),
            models.CheckConstraint(
                name="repository_lookups_answered_has_a_bounded_answer",
                condition=Q(sealed_answer__isnull=True) & ~Q(state=LookupState.ANSWERED)
                | Q(
                    sealed_answer__isnull=False,
                    sealed_answer__length__range=(33, MAX_ANSWER_BYTES),
                    state=LookupState.ANSWERED,
                ),
            ),
            models.CheckConstraint(
                name="repository_lookups_failed_says_why",
                condition=~Q(state=LookupState.FAILED) | Q(error_code__gt="", error_message__gt=""),
            ),
            models.CheckConstraint(
                name="repository_lookups_running_says_who",
                condition=~Q(state=LookupState.RUNNING) | Q(worker__gt="", started_at__isnull=False),
            ),
            models.CheckConstraint(
                name="repository_lookups_expires_after_asked", condition=Q(expires_at__gt=F("asked_at"))
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)
