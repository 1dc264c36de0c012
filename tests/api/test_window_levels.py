"""Whose a window is, when it is replaced: what held for one repository or job holds for all only where that is said."""

import pytest

from tests.api.builders import make_job
from tests.api.client import ApiClient
from tests.api.test_windows import NIGHT, ONCE

pytestmark = pytest.mark.django_db


def test_a_window_of_one_repository_or_job_holds_for_all_only_where_that_is_said() -> None:
    """A PUT that leaves out whose window it is would else stop every job of the installation."""
    client, job = ApiClient(), make_job()
    for name, level in (("repository_id", str(job.repository_id)), ("job_id", str(job.id))):
        address = f"windows/{client.post('windows', NIGHT | {'name': name, name: level}).json['id']}"
        other = {"repository_id", "job_id"} - {name}
        for said in ({}, dict.fromkeys(other)):
            refused = client.request("PUT", address, ONCE | said).refused(400, "VALIDATION_FAILED")
            assert level in refused["details"][name][0]
        assert client.get(address).json[name] == level
        assert client.request("PUT", address, ONCE | {"name": name, name: level}).json[name] == level
        wide = client.request("PUT", address, ONCE | {"name": name, name: None})
        assert (wide.status, wide.json[name]) == (200, None)
        again = client.request("PUT", address, NIGHT | {"name": name})
        assert (again.status, again.json["repository_id"], again.json["job_id"]) == (200, None, None)
