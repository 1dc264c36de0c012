"""What a command says while a repository far away does not answer: one line that it waits, and the cause in the end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.storage import retrying
from repositories.engine.storage.locations import open_storage
from repositories.engine.storage.retrying import RetryPolicy
from tests.cli.programs import Programs
from tests.cli.test_remote import allow, no_credentials_of_ours
from tests.engine.repositories import make_repository
from tests.engine.storage.proxy import Faults, proxy
from tests.engine.storage.servers import KEY_ID, SECRET, Server, free_port
from tests.engine.storage.test_remote_faults import answer

ServerOf = Callable[[str], Server]
__all__ = ["no_credentials_of_ours"]


@pytest.fixture
def server(server_of: ServerOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    """Give an S3 server, and its credentials to the programs."""
    allow(server_of("s3"), monkeypatch, tmp_path)
    return server_of("s3")


def waits(text: str) -> list[str]:
    return [line for line in text.splitlines() if "trying again" in line]


@pytest.mark.parametrize("verb", ["list", "create", "key"])
def test_what_runs_here_tells_once_that_it_waits(
    verb: str, server: Server, programs: Programs, cheap_keys: None
) -> None:
    """On stderr, and the one object on stdout stays whole."""
    make_repository(open_storage(server.location(f"waits-{verb}"), server.credentials))
    faults = Faults(answers=lambda number, head: answer(503) if number < 3 else None)
    with proxy(server.port, faults=faults) as port:
        place = server.location("made" if verb == "create" else f"waits-{verb}", port)
        words = ("list", place) if verb == "key" else (place,)
        ended = programs.repo(verb, *words, "--json")
    assert ended.code == 0, ended.err
    assert ended.json
    (line,) = waits(ended.err)
    assert f"http://127.0.0.1:{port}: the server answered with status 503; trying again, up to 7 times" in line


@pytest.mark.parametrize("progress", ["auto", "json"])
def test_the_engine_s_child_tells_once_that_it_waits(
    progress: str, server: Server, programs: Programs, tmp_path: Path
) -> None:
    name = f"child-{progress}"
    make_repository(open_storage(server.location(name), server.credentials))
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"hello")
    faults = Faults(answers=lambda number, head: answer(503) if number < 3 else None)
    with proxy(server.port, faults=faults) as port:
        words = ("-r", server.location(name, port), "--path", tmp_path / "tree", "--progress", progress)
        ended = programs.agent("backup", *words, "--json")
    assert ended.code == 0, ended.err
    assert "warned" not in ended.json
    assert len([line for line in waits(ended.err) if not line.startswith("{")]) == 1


@pytest.mark.parametrize("verb", ["list", "create"])
def test_the_cause_is_told_in_the_end(
    verb: str, server: Server, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request is tried in one row, not in two; the waits are left out here."""
    slept: list[float] = []
    monkeypatch.setattr(retrying, "RetryPolicy", lambda: RetryPolicy(chance=lambda: 0.0, sleep=slept.append))
    port = free_port()
    ended = programs.repo(verb, server.location("x", port), "--json")
    assert (ended.code, ended.json["error"]["code"]) == (1, "REPOSITORY_UNREACHABLE")
    where = f"s3://backups/x at http://127.0.0.1:{port}"
    assert ended.json["error"]["message"] == f"{where}: connection refused (8 tries in 0 s)"
    (line,) = waits(ended.err)
    assert line.startswith(f"{where}: connection refused; trying again, up to 7 times within about 5")
    assert max(map(slept.count, slept)) <= 2 * 7, "20 s stands twice in a row of waits, and seven look at once"
    for secret in (SECRET, KEY_ID):
        assert secret not in ended.out + ended.err


def test_who_wants_no_notes_gets_none(server: Server, programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "RetryPolicy", lambda: RetryPolicy(2, sleep=lambda _: None))
    ended = programs.repo("list", server.location("x", free_port()), "-q")
    assert (ended.code, waits(ended.err)) == (1, [])
    assert "connection refused (2 tries in 0 s)" in ended.err


def test_two_servers_with_the_same_bucket_are_told_apart(server: Server, programs: Programs) -> None:
    ended = programs.repo("list", server.location("nothing"))
    assert ended.code == 10
    assert f"no repository at s3://backups/nothing at http://127.0.0.1:{server.port}" in ended.err
