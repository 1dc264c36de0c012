"""A web page is no empty repository: what answers with 200 and speaks no S3 or WebDAV is told as such (4.7)."""

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.errors import RepositoryError, StoragePlaceMissingError, StorageUnreachableError
from repositories.engine.repository import CreateOptions, create_repository, open_repository
from repositories.engine.storage.locations import open_backend
from repositories.engine.storage.remote import RemoteStorage, no_pace
from repositories.engine.storage.remote_locations import parse_remote
from repositories.engine.storage.retrying import RetryingStorage, RetryPolicy
from repositories.engine.storage.spoken import FRESH_SECONDS, Spoken
from tests.engine.repositories import CHEAP, PASSWORD
from tests.engine.storage.proxy import Faults, proxy
from tests.engine.storage.servers import Server
from tests.engine.storage.test_remote_faults import answer

ServerOf = Callable[[str], Server]
PAGES = {
    "page": b"<html><head><title>Welcome</title></head><body><p>Hello</p></body></html>",
    "unclosed page": b"<!doctype html><html><body>Hello<br></body></html>",
    "feed": b"<?xml version='1.0'?><rss><channel/></rss>",
    "json": b"{}",
    "nothing": b"",
}


def backend(server: Server, port: int) -> RemoteStorage:
    return open_backend(parse_remote(server.location(secrets.token_hex(8), port)), server.credentials, no_pace)


@pytest.mark.parametrize("status", [200, 207])
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("kind", "name"), [("s3", "S3"), ("webdav", "WebDAV")])
def test_a_page_is_no_empty_repository(kind: str, name: str, page: str, status: int, server_of: ServerOf) -> None:
    """Not tried again; and nothing is created there."""
    told = answer(status, PAGES[page])
    faults = Faults(answers=lambda number, head: told)
    with proxy(server_of(kind).port, faults=faults) as port:
        storage = RetryingStorage(backend(server_of(kind), port), RetryPolicy(sleep=_fail))
        for act in (
            lambda: list(storage.list("config/")),
            lambda: open_repository(storage, PASSWORD),
            lambda: create_repository(storage, CreateOptions(password=PASSWORD, kdf=CHEAP)),
        ):
            if kind == "s3" and status != 200:
                with pytest.raises(RepositoryError, match="status 207"):
                    act()
                continue
            with pytest.raises(StoragePlaceMissingError, match=f"{port}.* does not answer as {name}") as caught:
                act()
            assert "in the location" in caught.value.hint


def _fail(seconds: float) -> None:
    raise AssertionError(seconds)


@pytest.mark.parametrize("kind", ["s3", "webdav"])
def test_a_page_where_the_right_server_was_may_pass(kind: str, server_of: ServerOf, tmp_path: Path) -> None:
    """Something before the server answers for a moment: what lies there is not taken for gone."""
    page, away = answer(200, PAGES["page"]), [False]
    with proxy(server_of(kind).port, faults=Faults(answers=lambda number, head: page if away[0] else None)) as port:
        bare = backend(server_of(kind), port)
        bare.put("marks/a", b"1")
        assert [each.name for each in bare.list("marks/")] == ["marks/a"]
        away[0] = True
        bare._spoken._monotonic = lambda: 1e12  # type: ignore[attr-defined]
        with pytest.raises(StorageUnreachableError, match="does not answer as"):
            list(bare.list("marks/"))
        again = RetryingStorage(bare, RetryPolicy(sleep=lambda seconds: away.__setitem__(0, False)))
        assert [each.name for each in again.list("marks/")] == ["marks/a"]


class Server200:
    """Tells what it is told to, and counts who asks."""

    def __init__(self) -> None:
        self.asked = 0
        self.now = 100.0
        self.right = True
        self.spoken = Spoken("there", "S3", self._ask, lambda: self.now)

    def _ask(self) -> bool:
        self.asked += 1
        return self.right

    def listed_nothing(self) -> None:
        self.spoken.require(self.spoken.begin())


def test_who_was_heard_a_moment_ago_is_not_asked() -> None:
    server = Server200()
    for _ in range(2):
        server.listed_nothing()
    assert server.asked == 1
    server.now += FRESH_SECONDS
    server.spoken.heard()
    server.listed_nothing()
    assert server.asked == 1
    server.now += FRESH_SECONDS
    server.right = False
    for _ in range(2):
        with pytest.raises(StorageUnreachableError):
            server.listed_nothing()
    assert server.asked == 3


def test_a_failure_to_ask_is_told() -> None:
    def ask() -> bool:
        raise StorageUnreachableError("there: timed out", hint="wait")

    spoken = Spoken("there", "S3", ask)
    with pytest.raises(StorageUnreachableError, match="timed out"):
        spoken.require(spoken.begin())
