"""Runners and the worker processes that give them slots (execution.md, sections 2 and 5).

Owns the rows; who is alive and what is free is computed by jobs.selectors and jobs.admission from database time.
"""

from typing import Final

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from jobs.states import RunnerKind
from repositories.engine.display import show_text

GROUP_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"


class Runner(models.Model):
    """A worker group or an agent: where the sources lie and the engine runs.

    `source_roots` and `restore_roots` are what its processes reported when they registered; null while none has.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    kind = models.TextField(choices=RunnerKind.choices)
    name = models.TextField()
    source_roots = models.JSONField(null=True, blank=True)
    restore_roots = models.JSONField(null=True, blank=True)
    # Since when no process of it is there, and whether that has been told; jobs.groups keeps both.
    dead_since = models.DateTimeField(null=True, blank=True)
    dead_told = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "runners"
        ordering = ["kind", Lower("name")]
        constraints = [
            models.UniqueConstraint("kind", Lower("name"), name="runners_name_is_unique_per_kind"),
            models.CheckConstraint(name="runners_kind_is_known", condition=Q(kind__in=RunnerKind.values)),
            models.CheckConstraint(name="runners_name_is_a_word", condition=Q(name__regex=rf"^{GROUP_NAME}$")),
        ]

    def __str__(self) -> str:
        return self.name


class WorkerProcess(models.Model):
    """One process that takes runs of a runner; its main process renews `last_seen` every 10 s."""

    id = models.UUIDField(primary_key=True, editable=False)
    runner = models.ForeignKey(Runner, on_delete=models.CASCADE, related_name="processes", db_index=False)
    host = models.TextField()
    process_id = models.PositiveIntegerField()
    # As runs.worker_mark, of the main process.
    mark = models.TextField(blank=True, default="")
    slots = models.PositiveIntegerField()
    # It shuts down; told by itself.
    draining = models.BooleanField(default=False)
    # An operator wants it to take nothing new; ends with the process, or when that is taken back.
    drain_requested = models.BooleanField(default=False, db_default=False)
    started_at = models.DateTimeField()
    last_seen = models.DateTimeField()

    class Meta:
        db_table = "worker_processes"
        ordering = ["runner", "host", "process_id"]
        verbose_name_plural = "worker processes"
        constraints = [
            models.UniqueConstraint(name="worker_processes_once_per_process", fields=["runner", "host", "process_id"]),
            models.CheckConstraint(name="worker_processes_slots_are_positive", condition=Q(slots__gte=1)),
            models.CheckConstraint(name="worker_processes_host_is_not_blank", condition=Q(host__regex=r"\S")),
            models.CheckConstraint(
                name="worker_processes_seen_after_start", condition=Q(last_seen__gte=models.F("started_at"))
            ),
        ]

    def __str__(self) -> str:
        return show_text(f"{self.host}:{self.process_id}")
