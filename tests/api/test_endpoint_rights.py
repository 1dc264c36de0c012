"""Each address of jobs and runs asks for its right and for nothing else (E1)."""

import pytest

from syncova_project.access.scopes import ALL_SCOPES
from tests.api.builders import NOBODY
from tests.api.client import ApiClient

pytestmark = pytest.mark.django_db


ENDPOINTS = [
    ("GET", "jobs", {"jobs.read"}),
    ("POST", "jobs", {"jobs.write"}),
    ("GET", f"jobs/{NOBODY}", {"jobs.read"}),
    ("PATCH", f"jobs/{NOBODY}", {"jobs.write"}),
    ("DELETE", f"jobs/{NOBODY}", {"jobs.write"}),
    ("POST", "jobs/validate", {"jobs.write"}),
    ("GET", f"jobs/{NOBODY}/revisions", {"jobs.read"}),
    ("GET", f"jobs/{NOBODY}/decisions", {"jobs.read"}),
    ("GET", f"jobs/{NOBODY}/schedule-events", {"jobs.read"}),
    ("GET", f"jobs/{NOBODY}/preview", {"jobs.read"}),
    ("POST", "jobs/preview", {"jobs.read"}),
    ("POST", "windows/preview", {"jobs.read"}),
    ("POST", f"jobs/{NOBODY}/pause", {"jobs.run"}),
    ("POST", f"jobs/{NOBODY}/resume", {"jobs.run"}),
    ("POST", f"jobs/{NOBODY}/run", {"jobs.run"}),
    ("PUT", f"jobs/{NOBODY}/dependencies", {"jobs.write"}),
    ("POST", f"repositories/{NOBODY}/breaker/reset", {"repositories.write"}),
    ("GET", f"jobs/{NOBODY}/runs", {"jobs.read", "runs.read"}),
    ("GET", "queue", {"jobs.read", "runs.read"}),
    ("GET", "schedules", {"jobs.read"}),
    ("GET", "runs", {"jobs.read", "runs.read"}),
    ("GET", f"runs/{NOBODY}", {"jobs.read", "runs.read"}),
    ("POST", f"runs/{NOBODY}/cancel", {"jobs.run"}),
    ("POST", f"backup-runs/{NOBODY}/cancel", {"jobs.run"}),
    ("GET", f"runs/{NOBODY}/events", {"jobs.read", "runs.read"}),
    ("GET", f"runs/{NOBODY}/log", {"jobs.read", "runs.read"}),
]


@pytest.mark.parametrize(("method", "address", "rights"), ENDPOINTS)
def test_each_endpoint_asks_for_its_right(method: str, address: str, rights: set[str]) -> None:
    """E1."""
    ApiClient(token="").request(method, address).refused(401, "UNAUTHENTICATED")
    others = [scope for scope in ALL_SCOPES if scope not in rights]
    ApiClient(*others).request(method, address).refused(403, "PERMISSION_DENIED")
    for right in rights:
        assert ApiClient(right).request(method, address).status in {200, 400, 404, 428}
    ApiClient().request("OPTIONS", address, {}).refused(405, "METHOD_NOT_ALLOWED")
