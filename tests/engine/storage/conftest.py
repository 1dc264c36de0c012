"""Servers of remote media, each started once a session and only when a test asks for it."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.engine.storage.servers import Server, can_run_sshd, running


@pytest.fixture(scope="session")
def server_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Server]]:
    """Give a function that returns the running server of a kind."""
    with contextlib.ExitStack() as stack:
        started: dict[str, Server] = {}

        def server(kind: str) -> Server:
            if kind == "openssh" and not can_run_sshd():
                pytest.skip("OpenSSH's sshd is not installed here, or this is not root")
            if kind not in started:
                started[kind] = stack.enter_context(running(kind, tmp_path_factory.mktemp(kind)))
            return started[kind]

        yield server
