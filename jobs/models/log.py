"""Log lines of runs, kept out of hot tables and bounded (H6): zstd chunks of at most 64 KiB, 4 MiB a run.

Owns the row; jobs.run_log writes and reads chunks, the bound of a run is a constraint of its row.
"""

from typing import Final

from django.db import models
from django.db.models import Q
from django.db.models.functions import Length

from jobs.models.run import Run

MAX_CHUNK_BYTES: Final = 64 * 1024

models.BinaryField.register_lookup(Length)


class RunLogChunk(models.Model):
    """Some lines of one run's log, compressed; `sequence` counts from 0 in the order of writing."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="log_chunks", db_index=False)
    sequence = models.PositiveIntegerField()
    data = models.BinaryField()
    lines = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "run_log_chunks"
        ordering = ["run", "sequence"]
        constraints = [
            models.UniqueConstraint(name="run_log_chunks_sequence_once_per_run", fields=["run", "sequence"]),
            models.CheckConstraint(
                name="run_log_chunks_have_1_byte_to_64_kib",
                condition=Q(data__length__gte=1) & Q(data__length__lte=MAX_CHUNK_BYTES),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.sequence}"
