"""A download outlives neither token, right nor sight of who takes it; real repository and engine (7.8)."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from jobs.backup_content import ContentBrokenOffError
from repositories.models import Backup
from syncova_project import clock
from syncova_project.access import standing
from syncova_project.access.models import ApiToken
from syncova_project.access.services import token_create, token_revoke
from syncova_project.web import long_answers
from tests.workers import scenario
from tests.workers.test_executor import execute, request_for

pytestmark = pytest.mark.django_db

LARGE = os.urandom(700_000)


@pytest.fixture
def address(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file in a backup; whether it may be had is asked before each piece."""
    settings.SYNCOVA_INSPECT = ""
    monkeypatch.setattr(standing, "ASKED_SECONDS", 0.0)
    place = scenario.ground(tmp_path, "direct")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "large").write_bytes(LARGE)
    assert execute(request_for(place, tmp_path / "source")).failure is None
    backup = Backup.objects.get()
    return f"/api/v1/repositories/{backup.repository_id}/backups/{backup.id}/content?path=large"


def begun(address: str) -> tuple[ApiToken, bytes, Iterator[bytes], Callable[[], None]]:
    """Begin a download; return its token, its first piece, the others, and what ends it."""
    token, text = token_create(name="t", scopes=["backups.read_content"], now=clock.now())
    response: Any = Client().get(address, headers={"Authorization": f"Bearer {text}"})
    assert response.status_code == 200
    pieces = iter(response.streaming_content)

    def close() -> None:
        for each in response._resource_closers:
            each()
        assert long_answers.PLACES._held == 0

    return token, next(pieces), pieces, close


def revoked(token: ApiToken) -> None:
    token_revoke(prefix=token.prefix, actor="alice", now=clock.now())


def expired(token: ApiToken) -> None:
    ApiToken.objects.filter(pk=token.pk).update(expires_at=clock.now())


def without_its_right(token: ApiToken) -> None:
    ApiToken.objects.filter(pk=token.pk).update(scopes=["runs.read"])


def without_its_sight(token: ApiToken) -> None:
    ApiToken.objects.filter(pk=token.pk).update(worker_groups=["another"])


@pytest.mark.parametrize("end", [revoked, expired, without_its_right, without_its_sight])
def test_what_ends_its_token_ends_a_download(address: str, end: Callable[[ApiToken], None]) -> None:
    token, _, rest, close = begun(address)
    end(token)
    with pytest.raises(ContentBrokenOffError, match="its next request would be refused"):
        next(rest)
    close()


def test_a_token_that_stays_gets_all_of_it(address: str) -> None:
    _, first, rest, close = begun(address)
    assert first + b"".join(rest) == LARGE
    close()
