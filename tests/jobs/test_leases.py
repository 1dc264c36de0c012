"""The desk of a running run: each write guarded by the fence (execution.md, section 1)."""

import pytest

from jobs import transitions
from jobs.executors import Progress
from jobs.leases import Lease, LeaseLostError
from jobs.models import Run
from jobs.states import CancelOrigin
from tests.jobs.builders import NOW, make_run

pytestmark = pytest.mark.django_db


def test_a_lease_gives_signs_proves_itself_and_sees_the_cancel() -> None:
    run = make_run(state="running")
    lease = Lease(run.id, run.fence or 0)
    assert lease.heartbeat(Progress("reading", files=3))
    assert lease.confirm()
    assert lease.stalled(900)
    assert lease.cancel_origin() is None
    transitions.request_cancel(run.id, CancelOrigin.USER, "alice", now=NOW)
    assert lease.cancel_origin() is CancelOrigin.USER
    run.refresh_from_db()
    assert run.progress is not None
    assert run.heartbeat_at is not None
    # The database's clock, not this test's.
    assert run.heartbeat_at != NOW
    assert list(run.events.values_list("code", flat=True)) == ["stalled", "cancel_requested"]


def test_a_lost_lease_is_told_by_every_call() -> None:
    run = make_run(state="running")
    lease = Lease(run.id, (run.fence or 0) + 1)
    assert not lease.heartbeat()
    assert not lease.confirm()
    assert not lease.stalled(900)
    with pytest.raises(LeaseLostError):
        lease.cancel_origin()
    assert Run.objects.get().heartbeat_at == NOW
