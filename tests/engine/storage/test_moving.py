"""Slow and living is told from hanging (4.7): a transfer goes on while bytes move, and ends when nothing does."""

import asyncio
import contextlib
import functools
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repositories.engine.errors import StorageUnreachableError
from repositories.engine.storage import opendal_storage, sftp_connection
from repositories.engine.storage.base import Storage
from repositories.engine.storage.locations import open_backend
from repositories.engine.storage.moving import Holds, carried, moved, while_moving
from repositories.engine.storage.remote import no_pace
from repositories.engine.storage.remote_locations import parse_remote
from repositories.engine.storage.webdav import WebDavStorage
from tests.engine.storage.proxy import Link, proxy
from tests.engine.storage.servers import Server, know_at

STILL = 1.2
PIECE = bytes(200_000)


@contextlib.contextmanager
def connection() -> Iterator[socket.socket]:
    """Give a real connection to somebody who takes everything and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()

    def drain() -> None:
        with contextlib.suppress(OSError):
            while server.recv(65_536):
                pass

    threading.Thread(target=drain, daemon=True).start()
    with client, server:
        yield client


def test_what_connections_carry_is_counted_both_ways_and_disturbs_them_not() -> None:
    with connection() as client:
        before = carried()
        client.sendall(PIECE)
        while moved(before, carried()) < len(PIECE):
            pass
        assert client.getblocking()
        assert moved(carried(), carried()) == 0
    assert moved(before, {}) == 0


def test_a_transfer_goes_on_while_bytes_move_and_ends_when_nothing_does() -> None:
    async def send(client: socket.socket, pieces: int) -> str:
        client.setblocking(False)
        for _ in range(pieces):
            await asyncio.get_running_loop().sock_sendall(client, PIECE)
            await asyncio.sleep(STILL / 10)
        return "sent"

    async def send_and_hang(client: socket.socket) -> None:
        await send(client, 15)
        await asyncio.Event().wait()

    with connection() as client:
        assert asyncio.run(while_moving(send(client, 40), STILL)) == "sent"
        with pytest.raises(TimeoutError):
            asyncio.run(while_moving(send(client, 40), STILL, longest=STILL))
        with pytest.raises(TimeoutError):
            asyncio.run(while_moving(send_and_hang(client), STILL))


def test_who_waits_for_a_limit_of_ours_is_not_given_up() -> None:
    holds = Holds()

    async def wait_and_hang() -> None:
        for _ in range(2):
            with holds.holding():
                await asyncio.sleep(1.5 * STILL)
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(while_moving(wait_and_hang(), STILL, holds=holds))
    assert holds.ended == 2


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let transfers stand still for a second where the product lets them for a minute."""
    for module in (opendal_storage, sftp_connection):
        monkeypatch.setattr(module, "while_moving", functools.partial(while_moving, still=STILL))


@pytest.mark.parametrize("kind", ["s3", "webdav", "sftp"])
@pytest.mark.usefixtures("impatient")
def test_a_narrow_way_keeps_no_pack_from_arriving(
    kind: str, server_of: Callable[[str], Server], tmp_path: Path
) -> None:
    """It takes several times as long as it may stand still."""
    server, pack, content = server_of(kind), tmp_path / "pack", secrets.token_bytes(4_000_000)
    pack.write_bytes(content)
    with proxy(server.port, link=Link(500_000)) as port:
        place = parse_remote(server.location(secrets.token_hex(8), port))
        storage = open_backend(place, know_at(server, port, tmp_path), no_pace)
        storage.prepare()
        storage.put_file("packs/ab/a", str(pack))
        assert storage.get("packs/ab/a", 0, 4_000_000) == content


@pytest.mark.parametrize("kind", ["s3", "webdav", "sftp"])
@pytest.mark.usefixtures("impatient")
def test_a_server_that_takes_requests_and_never_answers_is_given_up(
    kind: str, server_of: Callable[[str], Server], tmp_path: Path
) -> None:
    pack = tmp_path / "pack"
    with socket.create_server(("127.0.0.1", 0), backlog=64) as hanging:
        server, port = server_of(kind), hanging.getsockname()[1]
        storage = open_backend(parse_remote(server.location("x", port)), know_at(server, port, tmp_path), no_pace)
        for size in (1000, 20_000_000 if kind == "s3" else 1_000_000):
            pack.write_bytes(os.urandom(size))
            for act in (lambda: list(storage.list("marks/")), lambda: _send(storage, pack.read_bytes())):
                with pytest.raises(StorageUnreachableError, match="timed out") as caught:
                    act()
                assert "the server is stopped, overloaded" in caught.value.hint


def _send(storage: Storage, content: bytes) -> None:
    """Put; WebDAV looks first whether the object is there, which the library's own limit ends after half a minute."""
    if isinstance(storage, WebDavStorage):
        with storage._errors(""):
            storage._write("marks/a", content)
    else:
        storage.put("marks/a", content)
