"""What making, changing and deleting a job leave behind: its revision, and the trail's entry with before and after.

Owns these writes, in the caller's transaction; a change without a difference leaves neither. Ids are kept whole: who
reads them without seeing what they name is shown less (jobs.job_names).
"""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any, Final

from jobs.models import Job
from jobs.revisions import snapshot_of, write_revision
from jobs.services.job_rows import audit_job

# Longer values are told by the revision that holds them: a job may have a thousand sources.
_MOST_TOLD: Final = 16_384


def write_made(job: Job, actor: str, now: dt.datetime) -> None:
    """Write the first revision of a job, and the trail with all that it is."""
    revision = write_revision(job, actor, now=now)
    audit_job(job, "job.create", actor, now, after=_whole(job, revision.snapshot))


def write_deleted(job: Job, before: Mapping[str, Any], actor: str, now: dt.datetime) -> None:
    """Write the trail with all that a deleted job was by `before`, its snapshot of then."""
    audit_job(job, "job.delete", actor, now, before=_whole(job, before))


def write_down(job: Job, before: Mapping[str, Any], actor: str, now: dt.datetime) -> None:
    """Write the next revision of a locked job and the trail, unless it is as `before`, its snapshot of then, has it."""
    after = snapshot_of(job)
    names = [name for name in after if after[name] != before[name]]
    if not names:
        return
    job.revision_number += 1
    job.updated_at = now
    job.save(update_fields=["revision_number", "updated_at"])
    write_revision(job, actor, now=now)
    told = {
        "before": {name: _told(before[name], job.revision_number - 1) for name in names},
        "after": {name: _told(after[name], job.revision_number) for name in names},
    }
    audit_job(job, "job.change", actor, now, revision=job.revision_number, **told)


def _whole(job: Job, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _told(value, job.revision_number) for name, value in snapshot.items()}


def _told(value: Any, revision: int) -> Any:
    return value if len(json.dumps(value)) <= _MOST_TOLD else {"in_revision": revision}
