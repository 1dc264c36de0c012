"""JSON of jobs and runs as the API shows them.

Owns names and forms of the fields. Reads what jobs.listing loaded with the rows, so that no row costs a query.
Times are UTC; a path is shown text, with `path_base64` beside it only where that is not the exact name.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.copy_origins import origin_shown
from jobs.job_names import dependencies_json
from jobs.listing import HeldSentences
from jobs.models import Job, JobSource, Run, RunEvent, Schedule, TaskRun
from jobs.operation_serializers import shown_parameters
from jobs.run_log import LogLine
from jobs.selectors import (
    definition_shown,
    delay_seconds,
    phase,
    postponed_seconds,
    schedule_words,
    silent_since,
    stalled_since,
)
from jobs.sentences import flag_sentence, is_postponed, is_unseen, reason_sentence
from jobs.states import HeldCode, RunState, ScheduleState
from jobs.window_rows import read_subject
from repositories.engine.display import path_fields
from repositories.models import RepositoryFreeze
from syncova_project.instants import instant

FIGURES = ("files", "skipped", "warnings", "logical_bytes", "bytes_read", "bytes_stored")
TASK_FIGURES = (*FIGURES, "directories", "links", "others", "notes", "new_chunks")


def job_json(job: Any, sentences: HeldSentences) -> dict[str, Any]:
    """Return a job that jobs.listing loaded (Any, since the loaded lists are attributes that no type knows)."""
    schedules = [schedule_json(schedule) for schedule in job.listed_schedules]
    return {
        "id": str(job.id),
        "name": job.name,
        "status": "active" if job.paused_at is None else "paused",
        "paused_at": instant(job.paused_at),
        "repository": {"id": str(job.repository_id), "name": job.repository.name},
        "worker_group": job.runner.name,
        "sources": [_source_json(place) for place in job.listed_sources],
        "schedules": schedules,
        "schedule_description": "; ".join(str(one["description"]) for one in schedules) or "only by hand",
        "next_run_at": instant(job.next_run_at),
        "priority": job.priority,
        "bandwidth_limit_bps": job.bandwidth_limit_bps,
        "strict": job.strict,
        "max_attempts": job.max_attempts,
        "rpo_seconds": job.rpo_seconds,
        "start_deadline_seconds": job.start_deadline_seconds,
        "hooks": job.hooks,
        "max_runtime_seconds": job.max_runtime_seconds,
        **dependencies_json(job.listed_dependencies),
        "revision": job.revision_number,
        "created_at": instant(job.created_at),
        "updated_at": instant(job.updated_at),
        "active_run": next((_active_json(run, sentences) for run in job.listed_runs), None),
        "last_run": _last_json(job),
        "last_succeeded_at": instant(job.last_succeeded_at),
    }


def run_json(run: Run, sentences: HeldSentences) -> dict[str, Any]:
    """Return a run as lists show it."""
    return {
        "id": str(run.id),
        "kind": run.kind,
        "state": run.state,
        "phase": phase(run),
        "job": {"id": str(run.job_id), "name": run.job.name} if run.job else None,
        "repository": {"id": str(run.repository_id), "name": run.repository.name},
        "worker_group": run.runner.name,
        "trigger": run.trigger,
        "requested_by": run.requested_by,
        "accept_new_root": run.accept_new_root,
        "ignore_windows": run.ignore_windows,
        "ignore_dependencies": run.ignore_dependencies,
        "attempt": run.attempt,
        "priority": run.priority,
        "root_run": _id(run.root_run_id),
        "origin_run": _id(run.origin_run_id),
        **_times(run),
        "silent_since": instant(silent_since(run, sentences.now)),
        "stalled_since": instant(stalled_since(run, sentences.now)),
        "held": _held_json(run, sentences),
        "cancel": _cancel_json(run),
        "reason": reason_sentence(run),
        "reason_code": run.reason_code,
        "failure": _failure_json(run),
        **{name: getattr(run, name) for name in FIGURES},
    }


@dataclass(frozen=True, slots=True)
class RunPage:
    """A run with what its page shows beside it: its sources, what it found, the run that follows it, and which of its
    backups are gone since when.
    """

    run: Run
    tasks: Sequence[TaskRun]
    findings: Sequence[RepositoryFreeze] = ()
    follower: Run | None = None
    gone: Mapping[str, dt.datetime] = field(default_factory=dict)


def run_page_json(page: RunPage, sentences: HeldSentences) -> dict[str, Any]:
    """Return a run with its revision, progress, sources and what came of it."""
    run = page.run
    return {
        **run_json(run, sentences),
        "revision": run.revision.number if run.revision else None,
        "worker": run.worker,
        "heartbeat_at": instant(run.heartbeat_at),
        "progress": run.progress,
        "progress_at": instant(run.progress_at),
        "log_truncated": run.log_truncated,
        # Of a run without a job: what it was asked to do, and what came of it; of a dry run, the plan.
        "parameters": None if run.job_id else shown_parameters(origin_shown(run.parameters)),
        "result": None if run.job_id or not run.reason_code else run.reason_parameters,
        "findings": [{"at": instant(one.frozen_at), "sentence": one.reason} for one in page.findings],
        "followed_by": _follower_json(page.follower, sentences),
        "sources": [_task_json(task, page.gone) for task in page.tasks],
    }


def event_json(event: RunEvent) -> dict[str, Any]:
    """Return one move of a run; `number` is what `after` takes."""
    return {
        "number": event.pk,
        "at": instant(event.at),
        "code": event.code,
        "from": event.from_state or None,
        "to": event.to_state or None,
        "fence": event.fence,
        "actor": event.actor or None,
        "parameters": event.parameters,
    }


def log_json(number: int, line: LogLine) -> dict[str, Any]:
    """Return one line of a run's log; `number` is what `after` takes."""
    return {"number": number, "at": instant(line.at), "level": line.level, "message": line.message}


def _source_json(place: JobSource) -> dict[str, Any]:
    source = place.source
    return {
        "id": str(source.id),
        "type": source.type,
        **path_fields(bytes(source.normalised_id)),
        "exclude_patterns": place.excludes,
    }


def schedule_json(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule: the fields of its kind, and what has become of it."""
    words, problem = schedule_words(schedule)
    is_planned = not problem
    return {
        **definition_shown(schedule),
        "id": str(schedule.id),
        "description": words or f"cannot be planned: {problem}",
        "next_run_at": instant(schedule.next_at) if is_planned else None,
        "missed": schedule.missed,
        "missed_within_seconds": schedule.missed_within_seconds,
        # What cannot be planned is told before the pass that flags it, which comes when the row is due.
        "state": schedule.state if is_planned else ScheduleState.FLAGGED,
        "state_reason": flag_sentence(schedule) or ("" if is_planned else f"Cannot be planned: {problem}"),
    }


def _active_json(run: Run, sentences: HeldSentences) -> dict[str, Any]:
    return {
        "id": str(run.id),
        "state": run.state,
        "phase": phase(run),
        "since": instant(run.started_at or run.created_at),
        "silent_since": instant(silent_since(run, sentences.now)),
        "stalled_since": instant(stalled_since(run, sentences.now)),
        "held": _held_json(run, sentences),
    }


def _last_json(job: Job) -> dict[str, Any] | None:
    if job.last_run_id is None:
        return None
    return {"id": str(job.last_run_id), "state": job.last_state, "finished_at": instant(job.last_finished_at)}


def _times(run: Run) -> dict[str, Any]:
    return {
        "created_at": instant(run.created_at),
        "scheduled_for": instant(run.scheduled_for),
        "not_before": instant(run.not_before),
        "admitted_at": instant(run.admitted_at),
        "started_at": instant(run.started_at),
        "finished_at": instant(run.finished_at),
        "delay_seconds": delay_seconds(run),
        "postponed_seconds": postponed_seconds(run),
    }


def _held_json(run: Run, sentences: HeldSentences) -> dict[str, Any] | None:
    if run.state == RunState.QUEUED and run.held_code == HeldCode.WINDOW:
        _code, until, name = read_subject(run.held_subject)
        told = {"code": run.held_code, "subject": name, "until": instant(until), "since": instant(run.held_since)}
        return told | {"sentence": sentences.of(run)}
    if is_postponed(run, sentences.now) or is_unseen(run):
        postponed = is_postponed(run, sentences.now)
        return {
            "code": "not_before" if postponed else "next_pass",
            "subject": run.origin_run.error_code if postponed and run.origin_run else "",
            "since": instant(run.created_at),
            "sentence": sentences.of(run),
        }
    if run.state != RunState.QUEUED or not run.held_code:
        return None
    return {
        "code": run.held_code,
        "subject": sentences.subject_of(run),
        "since": instant(run.held_since),
        "sentence": sentences.of(run),
    }


def _follower_json(run: Run | None, sentences: HeldSentences) -> dict[str, Any] | None:
    if run is None:
        return None
    return {
        "id": str(run.id),
        "trigger": run.trigger,
        "attempt": run.attempt,
        "state": run.state,
        "phase": phase(run),
        "not_before": instant(run.not_before),
        "held": _held_json(run, sentences),
    }


def _cancel_json(run: Run) -> dict[str, Any] | None:
    if run.cancel_requested_at is None:
        return None
    return {
        "requested_at": instant(run.cancel_requested_at),
        "origin": run.cancel_origin,
        "by": run.cancelled_by or None,
    }


def _failure_json(run: Run | TaskRun) -> dict[str, Any] | None:
    if not run.failure_class:
        return None
    return {
        "class": run.failure_class,
        "code": run.error_code,
        "message": run.error_message,
        "hint": run.error_hint,
    }


def _task_json(task: TaskRun, gone: Mapping[str, dt.datetime]) -> dict[str, Any]:
    return {
        "id": str(task.id),
        "source": {"id": str(task.source_id), **path_fields(bytes(task.source.normalised_id))},
        "state": task.state,
        "mode": task.mode or None,
        "backup_id": task.backup_id or None,
        "backup_gone_at": instant(gone.get(task.backup_id)),
        "parent_backup_id": task.parent_backup_id or None,
        "manifest_id": task.manifest_id or None,
        "started_at": instant(task.started_at),
        "finished_at": instant(task.finished_at),
        "failure": _failure_json(task),
        "problems": task.problems,
        **{name: getattr(task, name) for name in TASK_FIGURES},
    }


def _id(value: object) -> str | None:
    return str(value) if value else None
