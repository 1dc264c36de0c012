"""The API of jobs: parse, call, serialize (E1-E3, E5). Decides nothing."""

import uuid
from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from jobs import examples
from jobs.answers import JOB, JOBS
from jobs.database_time import database_now
from jobs.listing import JOB_ORDERINGS, HeldSentences, job_listed, job_remembered, jobs_matching
from jobs.models import Window
from jobs.next_starts import NextStarts
from jobs.representations import job_json, run_json
from jobs.revisions import shown_state
from jobs.run_answers import RUN, RUNS
from jobs.run_views import runs_page
from jobs.selectors import run_get
from jobs.serializers import DependenciesBody, JobChange, JobFilter, JobInput, JobRunFilter, RunOrder
from jobs.services import (
    NewJob,
    SourceInput,
    breaker_reset,
    job_change,
    job_create,
    job_delete,
    job_depend,
    job_pause,
    job_resume,
    run_request,
)
from jobs.window_views import window_json
from repositories.answers import REPOSITORY
from repositories.selectors import repository_get
from repositories.serializers import repository_json
from syncova_project.access.permissions import need_scope
from syncova_project.access.scopes import Scope
from syncova_project.paging import PageRequest, read_page
from syncova_project.preconditions import etag
from syncova_project.rest import ApiView, Created, NoBody, actor_of, create_once, unless_had


class JobsView(ApiView):
    """GET lists jobs by page; POST makes one (201)."""

    scopes = {"GET": (Scope.JOBS_READ,), "POST": (Scope.JOBS_WRITE,)}
    keyed = frozenset({"POST"})
    answers = {"GET": JOBS, "POST": JOB}
    examples = {"POST": examples.NEW_JOB}
    bodies, queries, statuses = {"POST": JobInput}, {"GET": JobFilter}, {"POST": 201}

    def get(self, request: Request) -> Response:
        """Return one page of jobs."""
        filters = self.query(request)
        cursor, limit, ordering = filters.pop("cursor"), filters.pop("limit"), filters.pop("ordering")
        wanted = PageRequest(JOB_ORDERINGS[ordering], filters, cursor, limit)
        page = read_page(jobs_matching(filters), wanted)
        sentences, starts = HeldSentences(), NextStarts()
        rows = [{**job_json(job, sentences), **starts.of(job)} for job in page.rows]
        return Response({"jobs": rows, "next_cursor": page.next_cursor})

    def post(self, request: Request) -> Response:
        """Make a job; its next instant is computed at once."""
        values = self.body(request)
        wanted, new = values.pop("windows"), NewJob(**changed_fields(values))
        if wanted:
            need_scope(request, Scope.WINDOWS_WRITE)

        def create() -> Created:
            job = job_create(new, windows=wanted, actor=actor_of(request), now=database_now())
            return Created(201, _page_json(job_listed(job.id)), f"/api/v1/jobs/{job.id}")

        answer = create_once(request, create)
        answer["ETag"] = _tag(answer.data)
        return answer


class JobView(ApiView):
    """GET shows one job; PATCH changes it (E6); DELETE ends it, its runs stay (D3).

    Its ETag is its revision, with a digest of its state, and one of all that is shown.
    """

    scopes = {"GET": (Scope.JOBS_READ,), "PATCH": (Scope.JOBS_WRITE,), "DELETE": (Scope.JOBS_WRITE,)}
    answers = {"GET": JOB, "PATCH": JOB}
    examples = {"PATCH": examples.CHANGE}
    bodies, statuses = {"PATCH": JobChange}, {"DELETE": 204}
    conditions = {"PATCH": True, "DELETE": False}
    tagged = frozenset({"GET"})

    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return the job, 304 for who has it already, or 404."""
        return unless_had(request, job_answer(job_id))

    def patch(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return the job as it is now; 428 without If-Match, 412 when it has been changed since."""
        condition = self.condition(request)
        fields = changed_fields(self.body(request))
        if "windows" in fields:
            need_scope(request, Scope.WINDOWS_WRITE)
        job_change(job_id=job_id, fields=fields, condition=condition, actor=actor_of(request), now=database_now())
        return job_answer(job_id)

    def delete(self, request: Request, job_id: uuid.UUID) -> Response:
        """Delete the job softly; with If-Match only in that state."""
        condition = self.condition(request)
        job_delete(job_id=job_id, actor=actor_of(request), now=database_now(), condition=condition)
        return Response(status=204)


class JobDependenciesView(ApiView):
    """PUT says which jobs this one waits for; an empty list is none (C4)."""

    scopes = {"PUT": (Scope.JOBS_WRITE,)}
    answers = {"PUT": JOB}
    examples = {"PUT": examples.DEPENDENCIES}
    bodies = {"PUT": DependenciesBody}

    def put(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return the job; 409 when it would wait for itself."""
        wanted = self.body(request)["depends_on"]
        job_depend(job_id=job_id, depends_on=wanted, actor=actor_of(request), now=database_now())
        return job_answer(job_id)


class JobPauseView(ApiView):
    """POST pauses the job; repeating it changes nothing."""

    scopes = {"POST": (Scope.JOBS_RUN,)}
    answers = {"POST": JOB}
    bodies = {"POST": NoBody}

    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return the paused job."""
        self.body(request)
        job_pause(job_id=job_id, actor=actor_of(request), now=database_now())
        return job_answer(job_id)


class JobResumeView(ApiView):
    """POST resumes the job; it plans from now on and does not fire at once (E3)."""

    scopes = {"POST": (Scope.JOBS_RUN,)}
    answers = {"POST": JOB}
    bodies = {"POST": NoBody}

    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return the resumed job with its new next instant."""
        self.body(request)
        job_resume(job_id=job_id, actor=actor_of(request), now=database_now())
        return job_answer(job_id)


class JobRunView(ApiView):
    """POST queues a run now: 202, since nothing is backed up yet (E2)."""

    scopes = {"POST": (Scope.JOBS_RUN,)}
    answers = {"POST": RUN}
    keyed = frozenset({"POST"})
    examples = {"POST": examples.RUN_ORDER}
    bodies, statuses = {"POST": RunOrder}, {"POST": 202}

    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return the queued run; 409 when the job is paused or active."""
        order = self.body(request)
        if order["ignore_windows"]:
            need_scope(request, Scope.RUNS_IGNORE_WINDOWS)
        if order["ignore_dependencies"]:
            need_scope(request, Scope.JOBS_WRITE)

        def create() -> Created:
            run = run_request(job_id=job_id, actor=actor_of(request), now=database_now(), **order)
            return Created(202, run_json(run_get(run.id), HeldSentences()), f"/api/v1/runs/{run.id}")

        return create_once(request, create)


class JobRunsView(ApiView):
    """GET lists the runs of one job, newest first; those of a deleted one stay."""

    scopes = {"GET": (Scope.JOBS_READ, Scope.RUNS_READ)}
    answers = {"GET": RUNS}
    queries = {"GET": JobRunFilter}

    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return one page of the job's runs; 404 when there never was such a job."""
        job_remembered(job_id)
        return runs_page(self.query(request) | {"job": job_id})


class BreakerResetView(ApiView):
    """POST lets what waits for a failing repository try it at once; repeating it is harmless."""

    scopes = {"POST": (Scope.REPOSITORIES_WRITE,)}
    answers = {"POST": REPOSITORY}
    bodies = {"POST": NoBody}

    def post(self, request: Request, repository_id: uuid.UUID) -> Response:
        """Return the repository."""
        self.body(request)
        breaker_reset(repository_id=repository_id, actor=actor_of(request), now=database_now())
        return Response(repository_json(repository_get(repository_id)))


def job_answer(job_id: uuid.UUID) -> Response:
    """Return a job with the tag that a change of it has to name."""
    shown = _page_json(job_listed(job_id))
    return Response(shown, headers={"ETag": _tag(shown)})


def _tag(shown: Mapping[str, Any]) -> str:
    return etag(shown["revision"], shown, state=shown_state(shown))


def _page_json(job: Any) -> dict[str, Any]:
    own = Window.objects.filter(job_id=job.id).order_by("name", "id")
    shown = {"windows": [window_json(row) for row in own]}
    return {**job_json(job, HeldSentences()), **NextStarts().of(job), **shown}


def changed_fields(values: dict[str, Any]) -> dict[str, Any]:
    """Return validated fields of a job as the services take them."""
    fields = dict(values)
    if "sources" in fields:
        fields["sources"] = [
            SourceInput(path=one["path"], type=one["type"], excludes=tuple(one["exclude_patterns"]))
            for one in fields["sources"]
        ]
    if "hooks" in fields:
        fields["hooks"] = [(one["moment"], one["name"]) for one in fields["hooks"]]
    return fields
