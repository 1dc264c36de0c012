"""What people are told while a medium far away does not answer, and in the end: which one, why, and for how long."""

import os
import secrets
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.errors import RepositoryError, StoragePlaceMissingError, StorageUnreachableError
from repositories.engine.limits import MIB
from repositories.engine.storage.credentials import (
    ACCESS_KEY_ID,
    KNOWN_HOSTS,
    PASSWORD,
    SECRET_ACCESS_KEY,
    Credentials,
)
from repositories.engine.storage.locations import open_backend
from repositories.engine.storage.outages import QUIET_SECONDS, Notices, cause_in
from repositories.engine.storage.remote import RemoteStorage, no_pace
from repositories.engine.storage.remote_locations import parse_remote
from repositories.engine.storage.retrying import RetryingStorage, RetryPolicy
from tests import canaries
from tests.engine.storage.proxy import Faults, proxy
from tests.engine.storage.servers import Server, free_port
from tests.engine.storage.test_remote_faults import answer
from tests.engine.storage.test_retrying import Flaky, unreachable

ServerOf = Callable[[str], Server]
PLACES = {
    "s3": "s3://backups/x?endpoint=http://{host}:{port}",
    "webdav": "webdavs://keeper@{host}:{port}/x",
    "sftp": "sftp://keeper@{host}:{port}/x",
}
SECRET = canaries.credential("outages")
CREDENTIALS = Credentials(
    {ACCESS_KEY_ID: SECRET, SECRET_ACCESS_KEY: SECRET, PASSWORD: SECRET, KNOWN_HOSTS: "/dev/null"}
)


def backend(kind: str, port: int, host: str = "127.0.0.1") -> RemoteStorage:
    return open_backend(parse_remote(PLACES[kind].format(host=host, port=port)), CREDENTIALS, no_pace)


def acts(storage: RemoteStorage) -> list[Callable[[], object]]:
    """Return requests of each kind: a library tells of each in its own way."""
    return [
        lambda: list(storage.list("")),
        lambda: storage.get("marks/a"),
        lambda: storage.get("marks/a", 3, 4),
        lambda: storage.size("marks/a"),
        lambda: storage.put("marks/a", b"1"),
    ]


@pytest.mark.parametrize("kind", sorted(PLACES))
def test_a_refused_connection_is_told_as_such(kind: str) -> None:
    """4.7: by each request, with the location, without a credential."""
    port = free_port()
    for act in acts(backend(kind, port)):
        with pytest.raises(StorageUnreachableError, match=rf":{port}.*: connection refused$") as caught:
            act()
        assert SECRET not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("kind", sorted(PLACES))
def test_a_pack_that_meets_no_server_is_told_with_the_cause(kind: str, tmp_path: Path) -> None:
    """In parts, too, of which the library tells no cause: a server that is killed within a backup."""
    pack = tmp_path / "pack"
    pack.write_bytes(bytes(17 * MIB))
    storage = backend(kind, free_port())
    with pytest.raises(StorageUnreachableError, match=r": connection refused$"):
        storage.put_file("packs/ab/a", str(pack))
    assert pack.exists()


@pytest.mark.parametrize("kind", sorted(PLACES))
def test_a_host_that_is_not_there_is_told_as_such(kind: str) -> None:
    for act in acts(backend(kind, 443, "host.invalid")):
        with pytest.raises(StorageUnreachableError, match=r"host\.invalid.*: (no such host|the host's name cannot)"):
            act()


def test_a_server_that_hangs_up_is_told_as_such(server_of: ServerOf) -> None:
    with proxy(server_of("s3").port, faults=Faults(cut=lambda number: True)) as port:
        for act in acts(backend("s3", port)):
            with pytest.raises(StorageUnreachableError, match=r": the (server (reset|closed) the|connection)"):
                act()


def test_no_tls_where_tls_is_expected_is_told_at_once(server_of: ServerOf) -> None:
    location = server_of("s3").location("x").replace("http://", "https://")
    storage = open_backend(parse_remote(location), server_of("s3").credentials, no_pace)
    with pytest.raises(RepositoryError, match=r"no TLS is spoken there.*or webdav://") as caught:
        list(storage.list(""))
    assert type(caught.value) is RepositoryError


def test_a_wrong_endpoint_and_a_missing_bucket_are_told_with_the_endpoint(server_of: ServerOf) -> None:
    """Two servers may have the same bucket: which of them was asked is in every message."""
    server = server_of("s3")
    with proxy(server.port, faults=Faults(answers=lambda number, head: answer(404, b"nothing here"))) as port:
        for act in (acts(backend("s3", port))[0], acts(backend("s3", port))[4]):
            with pytest.raises(StoragePlaceMissingError, match="no S3 is spoken at this endpoint, or the bucket") as no:
                act()
            assert no.value.message.startswith(f"s3://backups/x at http://127.0.0.1:{port}: ")
            assert "endpoint=" in no.value.hint
    location = server.location("x").replace("//backups/", "//no-such-bucket/")
    storage = open_backend(parse_remote(location), server.credentials, no_pace)
    with pytest.raises(StoragePlaceMissingError, match=rf"//no-such-bucket/x at .*:{server.port}: there is no such"):
        list(storage.list(""))


def test_what_answers_with_a_web_page_is_no_s3(server_of: ServerOf) -> None:
    page = answer(200, b"<!doctype html><html><head><meta charset=utf-8></head><body>Welcome<br></html>")
    with (
        proxy(server_of("s3").port, faults=Faults(answers=lambda number, head: page)) as port,
        pytest.raises(StoragePlaceMissingError, match="does not answer as S3"),
    ):
        list(backend("s3", port).list(""))


def test_an_object_of_s3_is_told_with_the_endpoint(server_of: ServerOf) -> None:
    with proxy(server_of("s3").port, faults=Faults(answers=lambda number, head: answer(503))) as port:
        storage = backend("s3", port)
        with pytest.raises(StorageUnreachableError, match=rf"^s3://backups/x/marks/a at .*:{port}: .* status 503$"):
            storage.get("marks/a")
    assert storage.place == f"s3://backups/x at http://127.0.0.1:{port}"
    amazon = open_backend(parse_remote("s3://backups/x"), CREDENTIALS, no_pace)
    assert amazon.shown("a") == "s3://backups/x/a at Amazon S3"


class Told:
    """Notices of a test, whose clock stands still."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now = 0.0
        self.notices = Notices(self.lines.append, lambda: self.now)


def test_the_first_failure_is_told_at_once_and_the_next_after_half_a_minute() -> None:
    told, inner = Told(), Flaky()
    inner.memory.put("marks/a", b"1")
    inner.fails = lambda number: unreachable() if number < 4 else None
    storage = RetryingStorage(inner, RetryPolicy(8, first=0.5, longest=3.0, sleep=lambda _: None), told.notices)
    storage.get("marks/a")
    assert told.lines == ["flaky://here: no answer; trying again, up to 7 times within about 16 s"]
    told.now = QUIET_SECONDS
    inner.fails = lambda number: unreachable()
    with pytest.raises(StorageUnreachableError):
        list(storage.list("")) or storage.get("marks/a")
    assert len(told.lines) == 2


def test_a_failure_that_is_not_tried_again_is_no_notice() -> None:
    told, inner = Told(), Flaky()
    inner.fails = lambda number: RepositoryError("no") if number == 1 else unreachable()
    storage = RetryingStorage(inner, RetryPolicy(1, sleep=lambda _: None), told.notices)
    for _ in range(2):
        with pytest.raises(RepositoryError):
            storage.get("marks/a")
    assert told.lines == []


def test_a_forked_process_tells_nothing() -> None:
    told, fault = Told(), secrets.token_hex(4)
    read, write = os.pipe()
    if os.fork() == 0:
        told.notices.failed(fault, 1, 1.0)
        os.write(write, b"%d" % len(told.lines))
        os._exit(0)
    os.wait()
    assert os.read(read, 9) == b"0"
    os.close(read)
    os.close(write)


def test_what_is_not_known_is_not_guessed() -> None:
    assert cause_in("error sending request for https://connection-refuse.example") == ""
    assert cause_in(f"[Errno 111] Connect call failed {sys.platform}") == "connection refused"
    assert cause_in(str(socket.gaierror(-2, "Name or service not known"))) == "no such host"
