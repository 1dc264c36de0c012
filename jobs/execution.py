"""What an executor is handed: the request of a running run, made from the revision that its admission pinned.

Owns the translation from rows. Must not start or end a run: jobs.transitions and jobs.conclusion do.
"""

import uuid

from jobs.executors import ExecutionRequest, ExecutionSource, HookCall
from jobs.models import Run, TaskRun
from jobs.revisions import PinnedJob, read_revision
from jobs.states import HookMoment, RunKind, RunState, Trigger


def execution_request(run_id: uuid.UUID, fence: int) -> ExecutionRequest | None:
    """Return the request of a run that runs under `fence`; None: it is not this executor's."""
    mine = Run.objects.filter(id=run_id, fence=fence, state=RunState.RUNNING)
    run = mine.select_related("revision").first()
    if run is None:
        return None
    pinned = read_revision(run.revision) if run.revision is not None else None
    return ExecutionRequest(
        run_id=run.id,
        fence=fence,
        kind=RunKind(run.kind),
        repository_id=run.repository_id,
        job_id=run.job_id,
        job_name=pinned.name if pinned else "",
        revision=run.revision.number if run.revision else None,
        sources=_sources(run.id, pinned) if pinned else (),
        bandwidth_limit_bps=pinned.bandwidth_limit_bps if pinned else None,
        strict=pinned.strict if pinned else False,
        scheduled_for=run.scheduled_for,
        trigger=Trigger(run.trigger),
        attempt=run.attempt,
        max_runtime_seconds=pinned.max_runtime_seconds if pinned else None,
        parameters=run.parameters,
        accept_new_root=run.accept_new_root,
        hooks=tuple(HookCall(HookMoment(moment), name) for moment, name in pinned.hooks) if pinned else (),
    )


def _sources(run_id: uuid.UUID, pinned: PinnedJob) -> tuple[ExecutionSource, ...]:
    by_id = {source.source_id: source for source in pinned.sources}
    rows = TaskRun.objects.filter(run_id=run_id).order_by("position").values_list("id", "source_id")
    return tuple(
        ExecutionSource(
            task_run_id=task_run_id,
            source_id=source_id,
            name=by_id[source_id].shown,
            type=by_id[source_id].type,
            path=by_id[source_id].path,
            excludes=by_id[source_id].excludes,
            chain=str(source_id),
        )
        for task_run_id, source_id in rows
    )
