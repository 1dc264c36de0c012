"""Remote media that fail: cuts at every request, lost answers, busy servers, refusals, limits (4.7, 4.8)."""

import os
import secrets
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import (
    EngineError,
    ObjectMissingError,
    RepositoryError,
    StoragePlaceMissingError,
    StorageRefusedError,
    StorageUnreachableError,
)
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.credentials import PASSWORD as PASSWORD_NAME
from repositories.engine.storage.credentials import SECRET_ACCESS_KEY, Credentials
from repositories.engine.storage.locations import open_backend, open_storage
from repositories.engine.storage.remote import no_pace
from repositories.engine.storage.remote_locations import parse_remote
from repositories.engine.storage.retrying import RetryingStorage, RetryPolicy
from repositories.engine.throttle import Throttle
from tests import canaries
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.storage.proxy import Faults, proxy
from tests.engine.storage.servers import KEY_ID, SECRET, Server, know_at
from tests.engine.trees import pattern

ServerOf = Callable[[str], Server]
WRONG = canaries.credential("wrong")
EVERY = "EVERY_REQUEST" in os.environ


def storage_at(server: Server, name: str, port: int, tmp_path: Path, *, tries: int = 4) -> Storage:
    """Return a repository's storage through a proxy; it waits milliseconds where the product waits seconds."""
    place = parse_remote(server.location(name, port))
    backend = open_backend(place, know_at(server, port, tmp_path), no_pace)
    return RetryingStorage(backend, RetryPolicy(tries, first=0.001, longest=0.002))


def make_tree(tree: Path) -> Path:
    tree.mkdir()
    for number in range(6):
        (tree / f"file {number}").write_bytes(pattern(40_000, seed=number))
    return tree


def read_back(repository: Repository, tree: Path, target: Path) -> None:
    restore_latest(repository, target)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {
        path.name: path.read_bytes() for path in tree.iterdir()
    }


@pytest.mark.parametrize("how", ["cut", "swallow"])
def test_a_connection_cut_at_every_request_of_a_backup(how: str, server_of: ServerOf, tmp_path: Path) -> None:
    """4.7: with one fault anywhere the backup succeeds, since that request is made again; nothing is stored twice.

    The suite takes every ninth request; EVERY_REQUEST=1 takes all.
    """
    server, tree = server_of("s3"), make_tree(tmp_path / "tree")
    counting = Faults()
    with proxy(server.port, faults=counting) as port:
        _back_up_through(server, port, tree, tmp_path)
    number, step = (1, 1) if EVERY else (1 + secrets.randbelow(9), 9)
    while number <= counting.requests:
        faults = failing(how, range(number, number + 1))
        with proxy(server.port, faults=faults) as port:
            name = _back_up_through(server, port, tree, tmp_path)
        repository = open_repository(open_storage(server.location(name), server.credentials), PASSWORD)
        read_back(repository, tree, tmp_path / f"back-{how}-{number}")
        number += step


@pytest.mark.parametrize("how", ["cut", "swallow"])
def test_a_connection_lost_for_good_at_every_request_leaves_what_was_there(
    how: str, server_of: ServerOf, tmp_path: Path
) -> None:
    """4.7: from request n on nothing comes through. The backup fails by name; the one before stays whole."""
    server, tree = server_of("s3"), make_tree(tmp_path / "tree")
    name = secrets.token_hex(8)
    first = make_repository(open_storage(server.location(name), server.credentials))
    back_up_tree(first, tree)
    counting = Faults()
    with proxy(server.port, faults=counting) as port:
        back_up_tree(open_repository(storage_at(server, name, port, tmp_path), PASSWORD), tree)
    number, step = (1, 1) if EVERY else (1 + secrets.randbelow(12), 12)
    while number <= counting.requests - 2:
        faults = failing(how, range(number, sys.maxsize))
        with proxy(server.port, faults=faults) as port:
            far = storage_at(server, name, port, tmp_path, tries=2)
            with pytest.raises(StorageUnreachableError):
                back_up_tree(open_repository(far, PASSWORD), tree)
        near = open_repository(open_storage(server.location(name), server.credentials), PASSWORD)
        read_back(near, tree, tmp_path / f"back-{how}-{number}")
        number += step


def failing(how: str, numbers: range) -> Faults:
    when = numbers.__contains__
    return Faults(cut=when) if how == "cut" else Faults(swallow=when)


def _back_up_through(server: Server, port: int, tree: Path, tmp_path: Path) -> str:
    name = secrets.token_hex(8)
    repository = make_repository(storage_at(server, name, port, tmp_path))
    assert back_up_tree(repository, tree).files == 6
    return name


@pytest.mark.parametrize("kind", ["s3", "webdav", "sftp"])
def test_a_server_that_is_away_is_told_as_unreachable(kind: str, server_of: ServerOf, tmp_path: Path) -> None:
    server = server_of(kind)
    with proxy(server.port) as port:
        storage = storage_at(server, "away", port, tmp_path, tries=2)
    for act in (lambda: storage.get("marks/a"), lambda: storage.put("marks/a", b"1"), lambda: list(storage.list(""))):
        with pytest.raises(StorageUnreachableError, match=r"\((2 tries|1 try) in 0 s\)") as caught:
            act()
        assert (caught.value.failure_class, bool(caught.value.hint)) == ("network", True)


@pytest.mark.parametrize(("status", "tries"), [(500, 3), (503, 3), (429, 3), (408, 3), (504, 3)])
@pytest.mark.parametrize("kind", ["s3", "webdav"])
def test_answers_that_may_pass_are_tried_again(
    kind: str, status: int, tries: int, server_of: ServerOf, tmp_path: Path
) -> None:
    """4.7"""
    server = server_of(kind)
    faults = Faults(answers=lambda number, head: answer(status) if number < tries else None)
    name = secrets.token_hex(8)
    open_storage(server.location(name), server.credentials).put("marks/a", b"1")
    with proxy(server.port, faults=faults) as port:
        assert storage_at(server, name, port, tmp_path).get("marks/a") == b"1"
    assert faults.requests >= tries


@pytest.mark.parametrize(
    ("kind", "status", "body", "expected"),
    [
        ("s3", 403, b"<Error><Code>AccessDenied</Code></Error>", StorageRefusedError),
        ("s3", 403, b"<Error><Code>InvalidAccessKeyId</Code></Error>", StorageRefusedError),
        ("s3", 403, b"<Error><Code>RequestTimeTooSkewed</Code></Error>", StorageRefusedError),
        ("s3", 404, b"<Error><Code>NoSuchBucket</Code></Error>", StoragePlaceMissingError),
        ("s3", 404, b"<Error><Code>NoSuchKey</Code></Error>", ObjectMissingError),
        ("s3", 400, b"<Error><Code>InvalidRequest</Code></Error>", RepositoryError),
        ("webdav", 401, b"", StorageRefusedError),
        ("webdav", 403, b"", StorageRefusedError),
        ("webdav", 404, b"", ObjectMissingError),
        ("webdav", 405, b"", RepositoryError),
    ],
)
def test_answers_that_cannot_pass_are_told_at_once(
    kind: str, status: int, body: bytes, expected: type[EngineError], server_of: ServerOf, tmp_path: Path
) -> None:
    """4.7"""
    faults = Faults(answers=lambda number, head: answer(status, body))
    with proxy(server_of(kind).port, faults=faults) as port:
        storage = storage_at(server_of(kind), "x", port, tmp_path)
        with pytest.raises(expected) as caught:
            storage.get("marks/a")
    assert type(caught.value) is expected
    assert faults.requests == 1
    assert caught.value.hint


def answer(status: int, body: bytes = b"") -> bytes:
    # The proxy ends the connection after it: said here, or another request may already be on its way.
    head = f"HTTP/1.1 {status} Told\r\nContent-Length: {len(body)}\r\nContent-Type: application/xml\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


@pytest.mark.parametrize("kind", ["s3", "webdav", "sftp"])
def test_no_credential_is_in_any_error_repr_or_traceback(kind: str, server_of: ServerOf, tmp_path: Path) -> None:
    """4.8: canaries, right ones and wrong ones, in all that an error could carry."""
    server = server_of(kind)
    wrong = Credentials({**server.credentials.values, SECRET_ACCESS_KEY: WRONG, PASSWORD_NAME: WRONG})
    place = parse_remote(server.location("x"))
    errors: list[EngineError] = []
    for credentials in (server.credentials, wrong):
        storage = open_backend(place, credentials, no_pace)
        assert not secrets_in(repr(storage) + repr(credentials) + storage.place)
        for act in (
            lambda s=storage: s.get("marks/none"),
            lambda s=storage: s.put("marks/a", b"1"),
            lambda s=storage: list(s.list("")),
        ):
            try:
                act()
            except EngineError as error:
                errors.append(error)
    assert any(isinstance(each, StorageRefusedError) for each in errors)
    for each in errors:
        assert not secrets_in("".join(traceback.format_exception(each)) + repr(each) + each.hint)


def secrets_in(text: str) -> list[str]:
    return [secret for secret in (SECRET, KEY_ID, WRONG) if secret in text]


def test_a_host_that_is_not_known_is_refused(server_of: ServerOf, tmp_path: Path) -> None:
    server = server_of("sftp")
    (tmp_path / "none").write_text("")
    credentials = Credentials({**server.credentials.values, "known_hosts": str(tmp_path / "none")})
    storage = open_backend(parse_remote(server.location("x")), credentials, no_pace)
    with pytest.raises(StorageRefusedError, match="the server's key is not known"):
        storage.get("marks/a")


@pytest.mark.parametrize("kind", ["s3", "webdav", "sftp"])
def test_the_write_limit_holds(kind: str, server_of: ServerOf, tmp_path: Path) -> None:
    """C8: what is sent waits for the bucket, in small objects and in packs; the clock is the test's."""
    waited: list[float] = []
    now = [0.0]

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        now[0] += seconds

    throttle = Throttle(1_000_000, monotonic=lambda: now[0], sleep=sleep)
    server = server_of(kind)
    storage = open_storage(server.location(secrets.token_hex(8)), server.credentials, throttle.take)
    storage.prepare()
    storage.put("marks/a", bytes(3_000_000))
    assert sum(waited) == pytest.approx(2.0, abs=0.01)
    pack = tmp_path / "pack"
    pack.write_bytes(bytes(9_000_000))
    storage.put_file("packs/ab/a", str(pack))
    assert sum(waited) == pytest.approx(11.0, abs=0.01)
    assert storage.size("packs/ab/a") == 9_000_000


@pytest.mark.parametrize("kind", ["s3", "webdav", "sftp"])
def test_the_restore_limit_holds(kind: str, server_of: ServerOf, tmp_path: Path) -> None:
    """4.8: what is restored waits for the bucket, small and large files alike; the clock is the test's."""
    server, waited = server_of(kind), [0.0]
    repository = make_repository(open_storage(server.location(secrets.token_hex(8)), server.credentials))
    (tmp_path / "tree").mkdir()
    for number, size in enumerate((5, 70_000, 2_500_000)):
        (tmp_path / "tree" / f"file {number}").write_bytes(secrets.token_bytes(size))
    back_up_tree(repository, tmp_path / "tree")

    def sleep(seconds: float) -> None:
        waited[0] += seconds

    throttle = Throttle(500_000, monotonic=lambda: waited[0], sleep=sleep)
    result = restore_latest(repository, tmp_path / "back", hooks=Hooks(read_bucket=throttle))
    assert result.bytes_written == 2_570_005
    assert waited[0] == pytest.approx(2_570_005 / 500_000 - 1, abs=0.01), "all but one second of credit"
    for path in (tmp_path / "tree").iterdir():
        assert (tmp_path / "back" / path.name).read_bytes() == path.read_bytes()


def test_a_writer_that_may_delete_leases_alone_can_back_up(server_of: ServerOf, tmp_path: Path) -> None:
    """4.10: the policy of docs/storage.md, kept by a gateway."""
    server, tree = server_of("s3"), make_tree(tmp_path / "tree")
    refused = answer(403, b"<Error><Code>AccessDenied</Code></Error>")

    def gateway(number: int, head: bytes) -> bytes | None:
        line = head.partition(b"\r\n")[0]
        return refused if line.startswith(b"DELETE ") and b"/sessions/" not in line else None

    name = secrets.token_hex(8)
    make_repository(open_storage(server.location(name), server.credentials))
    with proxy(server.port, faults=Faults(answers=gateway)) as port:
        storage = storage_at(server, name, port, tmp_path)
        repository = open_repository(storage, PASSWORD)
        back_up_tree(repository, tree)
        (tree / "file 0").write_bytes(b"changed")
        back_up_tree(repository, tree)
        read_back(repository, tree, tmp_path / "back")
        assert not list(storage.list("sessions/"))
        with pytest.raises(StorageRefusedError):
            storage.delete("reserve")
