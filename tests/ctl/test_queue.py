"""The queue from the command line: its order, its reasons (7.2, C1, C3)."""

import pytest

from tests.ctl import worker
from tests.ctl.conftest import Ctl

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_waits_is_listed_in_its_order_with_why(ctl: Ctl, plan: worker.Plan) -> None:
    plan.executes = False
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0
    assert ctl("queue").out == "nothing waits\n"
    for name, priority in (("small", "low"), ("urgent", "critical")):
        words = ("--source", f"/srv/{name}", "-r", "vault", "--priority", priority)
        assert ctl("job", "create", name, *words).code == 0
    assert ctl("repository", "freeze", "vault", "--reason", "noises").code == 0
    for name in ("small", "urgent"):
        assert ctl("job", "run", name).code == 0
    told = ctl("queue", "--json").json["queue"]
    assert [(one["position"], one["job"]["name"]) for one in told] == [(1, "urgent"), (2, "small")]
    lines = ctl("queue").out.splitlines()
    assert lines[1].split()[:3] == ["1", "critical", "urgent"]
    assert told[0]["held"]["sentence"] in " ".join(lines[1].split())
    assert [one["position"] for one in ctl("queue", "--limit", "1", "-r", "vault", "--json").json["queue"]] == [1]
    assert ctl("queue", "-r", "nothing").code == 1
