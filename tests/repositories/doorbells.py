"""A doorbell that only remembers: SYNCOVA_INSPECT points at `ring` where tests register repositories."""

import uuid

RUNG: list[tuple[uuid.UUID, str]] = []


def ring(repository_id: uuid.UUID, group: str) -> None:
    RUNG.append((repository_id, group))


def broken(repository_id: uuid.UUID, group: str) -> None:
    raise ConnectionError
