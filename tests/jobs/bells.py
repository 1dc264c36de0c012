"""Doorbells that only remember: SYNCOVA_DOORBELL and SYNCOVA_WAKE point here in tests of the loop."""

import uuid

rung: list[tuple[uuid.UUID, int, str]] = []
woken: list[int] = []


def ring(run_id: uuid.UUID, fence: int, group: str) -> bool:
    rung.append((run_id, fence, group))
    return True


def wake() -> bool:
    woken.append(1)
    return True


def deaf(*arguments: object) -> bool:
    """A broker that took no message."""
    rung.append((uuid.UUID(int=0), 0, "deaf"))
    return False


def broken(*arguments: object) -> bool:
    raise ConnectionError("the broker is gone")
