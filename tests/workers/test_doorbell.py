"""The doorbell against a real Valkey: it rings, and gives up in bounded time when nobody answers."""

import json
import signal
import uuid
from collections.abc import Iterator

import pytest

from syncova_project.celery import app
from tests.workers.harness import Stack
from workers import doorbell


@pytest.fixture(autouse=True)
def fresh_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorbell, "_quiet", doorbell._Quiet())


@pytest.fixture
def stopped_broker(stack: Stack) -> Iterator[Stack]:
    stack.broker_signal(signal.SIGSTOP)
    yield stack
    stack.broker_signal(signal.SIGCONT)
    stack.broker_client().flushall()


def test_a_ring_carries_run_and_fence_and_nothing_else(stack: Stack) -> None:
    """Messages carry ids: no path, no secret (execution.md, section 2)."""
    run_id = uuid.uuid4()
    assert doorbell.ring(run_id, 7, "ring-test")
    message = json.loads(stack.broker_client().lindex("work.ring-test", 0) or "")
    assert message["headers"]["argsrepr"] == f"['{run_id}', 7]"
    assert message["headers"]["expires"] is None
    stack.broker_client().flushall()


def test_a_stopped_broker_costs_one_time_out_and_then_nothing(
    stopped_broker: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Valkey stopped (SIGSTOP): requests and ticks go on within seconds, and the bell works again afterwards."""
    monkeypatch.setattr(doorbell, "QUIET_SECONDS", 3600.0)
    assert doorbell.wake() is False
    with monkeypatch.context() as context:
        tried: list[str] = []
        context.setattr(app, "send_task", lambda *arguments, **_: tried.append(arguments[0]))
        assert [doorbell.ring(uuid.uuid4(), 1, "default") for _ in range(16)] == [False] * 16
        assert tried == []
    stopped_broker.broker_signal(signal.SIGCONT)
    monkeypatch.setattr(doorbell, "_quiet", doorbell._Quiet())
    assert doorbell.wake() is True


def test_no_broker_at_all_is_told_and_never_raised(stack: Stack, settings: object) -> None:
    settings.SYNCOVA_BROKER_URL = "redis+socket:///nowhere/valkey.sock"  # type: ignore[attr-defined]
    assert doorbell.wake() is False
