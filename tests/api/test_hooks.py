"""Hooks over HTTP: names and moments alone; nothing that could be run is taken (6.4)."""

import pytest

from jobs.execution import execution_request
from jobs.models import Job, Run
from tests.api.builders import job_body, start
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

HOOKS = [{"moment": "before_job", "name": "dump"}, {"moment": "after_job", "name": "thaw"}]


def test_a_job_names_hooks_and_its_runs_pin_them() -> None:
    made = ApiClient().post("jobs", job_body(make_repository(), hooks=HOOKS))
    assert (made.status, made.json["hooks"]) == (201, HOOKS)
    asked = ApiClient().post(f"jobs/{made.json['id']}/run")
    run = Run.objects.get(pk=asked.json["id"])
    fence = start(run)
    Job.objects.update(hooks=[])
    request = execution_request(run.id, fence)
    assert request is not None
    assert [(str(call.moment), call.name) for call in request.hooks] == [("before_job", "dump"), ("after_job", "thaw")]


@pytest.mark.parametrize(
    "hook",
    [
        {"moment": "before_job", "name": "/bin/sh"},
        {"moment": "before_job", "name": "dump; rm -rf /"},
        {"moment": "before_job", "name": ""},
        {"moment": "whenever", "name": "dump"},
        {"moment": "before_job", "name": "dump", "argv": ["/bin/sh"]},
        "dump",
    ],
)
def test_nothing_that_could_be_run_is_taken(hook: object) -> None:
    answer = ApiClient().post("jobs", job_body(make_repository(), hooks=[hook]))
    answer.refused(400, "VALIDATION_FAILED")
    assert not Job.objects.exists()
