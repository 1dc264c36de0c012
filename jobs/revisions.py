"""Revisions of jobs: writing a snapshot of a job with its sources and schedules, and reading one back (H1).

Owns the snapshot's JSON; fields are only ever added. A run keeps the revision that it was admitted with.
"""

import base64
import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs.models import Job, JobRevision
from jobs.window_rows import rule_of
from jobs.windows import definition_of
from syncova_project.instants import instant
from syncova_project.preconditions import state_digest


@dataclass(frozen=True, slots=True)
class PinnedSource:
    """A source as a revision names it; `path` is exact bytes."""

    source_id: uuid.UUID
    type: str
    path: bytes
    shown: str
    excludes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PinnedJob:
    """What a run needs of its revision."""

    name: str
    bandwidth_limit_bps: int | None
    strict: bool
    max_runtime_seconds: int | None
    sources: tuple[PinnedSource, ...]
    hooks: tuple[tuple[str, str], ...] = ()


def write_revision(job: Job, actor: str, *, now: dt.datetime) -> JobRevision:
    """Write the job's present state as the revision of its number; the caller holds the job's lock."""
    return JobRevision.objects.create(
        job=job, number=job.revision_number, snapshot=snapshot_of(job), created_at=now, created_by=actor
    )


def read_revision(revision: JobRevision) -> PinnedJob:
    """Return what a revision pins."""
    snapshot: Mapping[str, Any] = revision.snapshot
    return PinnedJob(
        name=snapshot["name"],
        bandwidth_limit_bps=snapshot["bandwidth_limit_bps"],
        strict=snapshot["strict"],
        max_runtime_seconds=snapshot["max_runtime_seconds"],
        sources=tuple(_read_source(source) for source in snapshot["sources"]),
        # Revisions from before there were hooks name none.
        hooks=tuple((call["moment"], call["name"]) for call in snapshot.get("hooks", ())),
    )


def snapshot_of(job: Job) -> dict[str, Any]:
    """Return the job as a revision keeps it: its own fields, sources, schedules, windows and what it waits for."""
    return {
        "name": job.name,
        "repository_id": str(job.repository_id),
        "runner_id": str(job.runner_id),
        "priority": job.priority,
        "bandwidth_limit_bps": job.bandwidth_limit_bps,
        "strict": job.strict,
        "max_attempts": job.max_attempts,
        "rpo_seconds": job.rpo_seconds,
        "start_deadline_seconds": job.start_deadline_seconds,
        "max_runtime_seconds": job.max_runtime_seconds,
        "hooks": job.hooks,
        "depends_on": sorted(map(str, job.dependencies.values_list("predecessor", flat=True))),
        "sources": [
            {
                "source_id": str(place.source_id),
                "type": place.source.type,
                "path_base64": base64.b64encode(bytes(place.source.normalised_id)).decode("ascii"),
                "shown": place.source.shown,
                "excludes": list(place.excludes),
            }
            for place in job.job_sources.select_related("source").order_by("position")
        ],
        "schedules": [
            {
                "schedule_id": str(schedule.id),
                "definition": schedule.definition,
                "anchor": schedule.anchor.isoformat(),
                "missed": schedule.missed,
                "missed_within_seconds": schedule.missed_within_seconds,
            }
            for schedule in job.schedules.filter(deleted_at__isnull=True).order_by("id")
        ],
        "windows": [
            {"window_id": str(window.id), "name": window.name, **definition_of(rule_of(window))}
            for window in job.windows.order_by("id")
        ],
    }


def state_of(job: Job) -> str:
    """Return the digest of what people change of a job: its revision, and whether it is paused, which makes none."""
    return shown_state({"id": str(job.id), "revision": job.revision_number, "paused_at": instant(job.paused_at)})


def shown_state(shown: Mapping[str, Any]) -> str:
    """Return the same of a job as the API shows it."""
    return state_digest(shown["id"], shown["revision"], shown["paused_at"])


def _read_source(source: Mapping[str, Any]) -> PinnedSource:
    return PinnedSource(
        source_id=uuid.UUID(source["source_id"]),
        type=source["type"],
        path=base64.b64decode(source["path_base64"]),
        shown=source["shown"],
        excludes=tuple(source["excludes"]),
    )
