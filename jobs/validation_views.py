"""The API that judges before anything is saved: a body of a new job with all that is wrong with it (7.1).

Parse, call, serialize. Saves nothing.
"""

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.database_time import database_now
from jobs.serializers import ONE_OF_BOTH, JobInput
from jobs.services.job_validation import job_problems
from jobs.views import changed_fields
from syncova_project.access.scopes import Scope
from syncova_project.rest import ApiView, read_each


class JobValidateView(ApiView):
    """POST judges the body of a new job: all errors at once, by field. Nothing is saved."""

    scopes = {"POST": (Scope.JOBS_WRITE,)}
    bodies = {"POST": JobInput}

    def post(self, request: Request) -> Response:
        """Return whether a job can be made of it, and the sentences of each field that is refused."""
        values, errors = read_each(JobInput, request.data)
        single = values.pop("schedule", None)
        if single is not None and "schedules" in values:
            errors["schedule"] = [ONE_OF_BOTH]
        elif single is not None:
            values["schedules"] = [single]
        for name, sentences in job_problems(changed_fields(values), now=database_now()).items():
            errors.setdefault(name, []).extend(sentences)
        return Response({"valid": not errors, "errors": errors})
