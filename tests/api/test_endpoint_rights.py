"""Each address asks for its right and for nothing else, and none is without a row here (E1, 7.12).

That of another group's things nothing is there, test_visibility holds, also for each address.
"""

import re

import pytest
from django.urls import get_resolver

from syncova_project.access.scopes import ALL_SCOPES
from tests.api.builders import NOBODY
from tests.api.client import ApiClient
from tests.api.test_schema import api_views

pytestmark = pytest.mark.django_db
PREFIX = "/api/v1/"
IN_ADDRESS = {"kind": "prune", "token_id": "3kq0x8zt1m5c", "backup": f"run-{NOBODY}-x-00000000"}
READS = {"jobs.read", "runs.read"}
BACKUPS = {"repositories.read", "runs.read"}
# One's own tokens are everybody's.
ANY = set(ALL_SCOPES)

ENDPOINTS: dict[str, set[str]] = {
    "GET audit": {"audit.read"},
    "GET tokens": ANY,
    "POST tokens": ANY,
    "DELETE tokens/{token_id}": ANY,
    "GET jobs": {"jobs.read"},
    "POST jobs": {"jobs.write"},
    "POST jobs/validate": {"jobs.write"},
    "POST jobs/preview": {"jobs.read"},
    "GET jobs/{job_id}": {"jobs.read"},
    "PATCH jobs/{job_id}": {"jobs.write"},
    "DELETE jobs/{job_id}": {"jobs.write"},
    "GET jobs/{job_id}/preview": {"jobs.read"},
    "GET jobs/{job_id}/revisions": {"jobs.read"},
    "GET jobs/{job_id}/decisions": {"jobs.read"},
    "GET jobs/{job_id}/schedule-events": {"jobs.read"},
    "GET jobs/{job_id}/runs": READS,
    "POST jobs/{job_id}/pause": {"jobs.run"},
    "POST jobs/{job_id}/resume": {"jobs.run"},
    "POST jobs/{job_id}/run": {"jobs.run"},
    "PUT jobs/{job_id}/dependencies": {"jobs.write"},
    "GET queue": READS,
    "GET schedules": {"jobs.read"},
    "GET runs": READS,
    "GET runs/{run_id}": READS,
    "GET runs/{run_id}/events": READS,
    "GET runs/{run_id}/log": READS,
    "POST runs/{run_id}/cancel": {"jobs.run"},
    "POST backup-runs/{run_id}/cancel": {"jobs.run"},
    "GET windows": {"jobs.read"},
    "POST windows": {"windows.write"},
    "POST windows/preview": {"jobs.read"},
    "GET windows/{window_id}": {"jobs.read"},
    "PUT windows/{window_id}": {"windows.write"},
    "DELETE windows/{window_id}": {"windows.write"},
    "GET repositories": {"repositories.read"},
    "POST repositories": {"repositories.write"},
    "GET repositories/{repository_id}": {"repositories.read"},
    "POST repositories/{repository_id}/freeze": {"repositories.write"},
    "POST repositories/{repository_id}/unfreeze": {"repositories.write"},
    "GET repositories/{repository_id}/freezes": {"repositories.read"},
    "PUT repositories/{repository_id}/limits": {"repositories.write"},
    "POST repositories/{repository_id}/look": {"repositories.write"},
    "POST repositories/{repository_id}/breaker/reset": {"repositories.write"},
    "POST repositories/{repository_id}/check": {"repositories.write"},
    "POST repositories/{repository_id}/prune": {"repositories.write"},
    "POST repositories/{repository_id}/forget": {"repositories.write"},
    "POST repositories/{repository_id}/copy": {"repositories.write"},
    "POST repositories/{repository_id}/restore": {"restores.run"},
    "GET repositories/{repository_id}/upkeep": {"repositories.read"},
    "PUT repositories/{repository_id}/upkeep/{kind}": {"repositories.write"},
    "DELETE repositories/{repository_id}/upkeep/{kind}": {"repositories.write"},
    "GET backups": BACKUPS,
    "GET backups/{backup_id}": BACKUPS,
    "GET repositories/{repository_id}/backups/{backup}/files": BACKUPS,
    "GET repositories/{repository_id}/backups/{backup}/find": BACKUPS,
    "GET repositories/{repository_id}/backups/{backup}/content": {"backups.read_content"},
    "GET lookups/{lookup_id}": BACKUPS,
}


def test_every_address_has_its_row() -> None:
    views = api_views(get_resolver().url_patterns)
    there = {f"{method} {address.removeprefix(PREFIX)}" for address, view in views for method in view.scopes}
    assert set(ENDPOINTS) == there


def test_each_endpoint_asks_for_its_right() -> None:
    """E1."""
    anyone, nobody = ApiClient(), ApiClient(token="")
    holders = {right: ApiClient(right) for right in ALL_SCOPES}
    others = {wanted: _without(wanted) for wanted in {frozenset(rights) for rights in ENDPOINTS.values()}}
    for endpoint, rights in ENDPOINTS.items():
        method, address = _asked(endpoint)
        nobody.request(method, address).refused(401, "UNAUTHENTICATED")
        if rights != ANY:
            told = others[frozenset(rights)].request(method, address).refused(403, "PERMISSION_DENIED")
            assert set(told["details"]["needs_any_of"]) == rights, endpoint
        for right in rights:
            assert holders[right].request(method, address).status in {200, 400, 404, 428}, (endpoint, right)
        anyone.request("OPTIONS", address, {}).refused(405, "METHOD_NOT_ALLOWED")


def _without(rights: frozenset[str]) -> ApiClient:
    # Without any right there is no token: it may then do all, and nobody asks it.
    return ApiClient(*(scope for scope in ALL_SCOPES if scope not in rights))


def _asked(endpoint: str) -> tuple[str, str]:
    method, _, pattern = endpoint.partition(" ")
    return method, re.sub(r"{(\w+)}", lambda part: IN_ADDRESS.get(part[1], NOBODY), pattern)
