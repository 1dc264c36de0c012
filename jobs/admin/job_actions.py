"""What a person may do to a job in the admin: the services of the API, with its rights. Decides nothing."""

from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest

from jobs.admin.job_form import JobForm
from jobs.database_time import database_now
from jobs.models import Job
from jobs.serializers import JobChange
from jobs.services import job_change, job_delete, job_pause, job_resume, run_request
from jobs.views import changed_fields
from syncova_project.access.people import actor_of_person
from syncova_project.access.scopes import Scope
from syncova_project.admin_pages.actions import Done, PageAction, Values
from syncova_project.admin_pages.pages import address_of
from syncova_project.preconditions import Condition
from syncova_project.rest import read_input


def _run(*, accept_new_root: bool) -> Callable[[HttpRequest, Any, Values], Done]:
    def perform(request: HttpRequest, job: Job, _values: Values) -> Done:
        actor = actor_of_person(request.user)
        run = run_request(job_id=job.id, actor=actor, now=database_now(), accept_new_root=accept_new_root)
        return Done("The run is queued.", address_of("jobs.run", run.id))

    return perform


def _pause(request: HttpRequest, job: Job, _values: Values) -> Done:
    job_pause(job_id=job.id, actor=actor_of_person(request.user), now=database_now())
    return Done("The job is paused: nothing more starts by itself.")


def _resume(request: HttpRequest, job: Job, _values: Values) -> Done:
    job_resume(job_id=job.id, actor=actor_of_person(request.user), now=database_now())
    return Done("The job plans from now on.")


def _change(request: HttpRequest, job: Job, values: Values) -> Done:
    fields = changed_fields(read_input(JobChange, values["body"]))
    seen = Condition(frozenset({str(values["revision"])}))
    actor = actor_of_person(request.user)
    changed = job_change(job_id=job.id, fields=fields, condition=seen, actor=actor, now=database_now())
    if changed.revision_number == values["revision"]:
        return Done("The job was so already: nothing was changed.")
    return Done(f"The job is changed: this is revision {changed.revision_number}.")


def _delete(request: HttpRequest, job: Job, _values: Values) -> Done:
    job_delete(job_id=job.id, actor=actor_of_person(request.user), now=database_now())
    return Done("The job is deleted; its runs and backups stay.")


def _is_kept(job: Job) -> bool:
    return job.deleted_at is None


def _is_active(job: Job) -> bool:
    return _is_kept(job) and job.paused_at is None


def _is_paused(job: Job) -> bool:
    return _is_kept(job) and job.paused_at is not None


ACTIONS: Final = (
    PageAction("run", "Run now", Scope.JOBS_RUN, _run(accept_new_root=False), _is_active),
    PageAction(
        "accept",
        "Run and confirm sources",
        Scope.JOBS_RUN,
        _run(accept_new_root=True),
        lambda job: _is_active(job) and job.last_state not in ("", "succeeded"),
        question="Are the sources as they are now really what is meant? This run backs them up even where the last one "
        "found them suddenly empty, or not mounted.",
    ),
    PageAction("change", "Change", Scope.JOBS_WRITE, _change, _is_kept, form=JobForm),
    PageAction("pause", "Pause", Scope.JOBS_RUN, _pause, _is_active),
    PageAction("resume", "Resume", Scope.JOBS_RUN, _resume, _is_paused),
    PageAction(
        "delete",
        "Delete",
        Scope.JOBS_WRITE,
        _delete,
        _is_kept,
        question="Delete this job? Nothing is planned any more, what waits is cancelled, and what runs is asked to "
        "stop. Its runs and its backups stay.",
        destroys=True,
    ),
)
