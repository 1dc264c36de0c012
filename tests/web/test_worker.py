"""Web under clients that are slow, silent, wrong or gone: everybody else is answered, and all of it ends (A2, A7)."""

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncova_project import clock
from syncova_project.embedded.processes import identify
from syncova_project.embedded.python_copy import CLONE
from tests.embedded.stack import certificate, eventually

HALF = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n"


class Web:
    """A running gunicorn with one worker of two threads."""

    def __init__(self, directory: Path, *words: str) -> None:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        self.port = listener.getsockname()[1]
        argv = [sys.executable, "-P", "-m", "gunicorn", "tests.web.application:application"]
        argv += ["--bind", f"fd://{listener.fileno()}", "--workers", "1", "--threads", "2", "--no-control-socket"]
        argv += ["--worker-class", "tests.web.application.WebWorker", "--worker-connections", "100"]
        argv += ["--graceful-timeout", "20", "--worker-tmp-dir", str(directory), "--log-level", "warning", *words]
        self.log = directory / "log"
        with self.log.open("wb") as log:
            self.main = subprocess.Popen(
                argv,
                env={**os.environ, "PYTHONPATH": str(CLONE)},
                pass_fds=(listener.fileno(),),
                stderr=log,
                start_new_session=True,
            )
        listener.close()

    def connect(self) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port))
        client.settimeout(30)
        return client

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send one request and return status and body of the answer, the connection closed by the server."""
        with self.connect() as client:
            client.sendall(request)
            return answer_of(client)

    def workers(self) -> list[int]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == self.main.pid and int(entry.name) != self.main.pid and fields[0] != "Z":
                    found.append(int(entry.name))
        return found


def answer_of(client: socket.socket) -> tuple[int, bytes]:
    content = b""
    while piece := client.recv(65536):
        content += piece
    head, _, body = content.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, body


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    made = Web(tmp_path_factory.mktemp("web"))
    yield made
    made.main.terminate()
    made.main.wait(30)


def get(path: str = "/", headers: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n".encode()


def test_slow_and_silent_connections_hold_no_thread_and_are_ended(web):
    """Many more of them than there are threads, and than there are places: everybody else is answered."""
    beginnings = (b"", b"G", HALF, HALF + b"\r\n", HALF + b"\r\n1234", get() + b"G")
    with contextlib.ExitStack() as held:
        clients = []
        for number in range(300):
            client = held.enter_context(web.connect())
            # One that was given up for newer ones may be gone already.
            with contextlib.suppress(OSError):
                client.sendall(beginnings[number % len(beginnings)])
            clients.append(client)
            if number % 50 == 0:
                assert web.ask(get())[0] == 200
        assert web.ask(get()) == (200, b"GET 0 ")
        for client in clients:
            with contextlib.suppress(ConnectionResetError):
                answer_of(client)


@pytest.mark.parametrize("sent", [b"GET / HT", HALF, HALF + b"\r\n1234"])
def test_a_request_that_does_not_arrive_in_time_is_told_so(web, sent):
    status, body = web.ask(sent)
    assert status == 408
    assert json.loads(body)["error"]["code"] == "REQUEST_TIMEOUT"


def test_drops_do_not_prolong_a_request(web):
    """A byte now and then keeps no connection open for ever."""
    with web.connect() as client:
        client.sendall(HALF)
        client.settimeout(0.2)
        end = clock.monotonic() + 30
        answered = b""
        while not answered and clock.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                answered = client.recv(100)
                break
            client.sendall(b"X")
    assert answered.startswith(b"HTTP/1.1 408")


def test_whole_requests_come_through_in_every_form(web):
    chunked = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert web.ask(chunked + b"5\r\nabcde\r\n3\r\nfgh\r\n0\r\n\r\n") == (200, b"POST 8 efgh")
    body = b"x" * 2_000_000
    length = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert web.ask(length + body) == (200, b"POST 2000000 xxxx")
    # Two at once, in one piece, and the end of the client's side behind them.
    with web.connect() as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + get())
        client.shutdown(socket.SHUT_WR)
        content = b""
        while piece := client.recv(1000):
            content += piece
    assert content.count(b"HTTP/1.1 200 OK") == 2


def test_a_kept_connection_takes_further_requests(web):
    with web.connect() as client:
        for _ in range(3):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            content = b""
            while not content.endswith(b"GET 0 "):
                content += client.recv(1000)
            assert content.startswith(b"HTTP/1.1 200")


def test_who_waits_for_continue_gets_it(web):
    with web.connect() as client:
        client.sendall(HALF + b"Expect: 100-continue\r\nConnection: close\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 100 Continue")
        client.sendall(b"123456789")
        assert b"POST 9 6789" in answer_of(client)[1]


def test_a_body_that_was_not_received_is_no_further_request(web):
    """What follows an unread body must never be taken for a request of its own."""
    head = b"POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n"
    with web.connect() as client:
        client.sendall(head)
        content = b""
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while piece := client.recv(1000):
                content += piece
                client.sendall(get())
    assert content.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (get("/" + "a" * 9000), 414, "URI_TOO_LONG"),
        (b"a" * 70_000, 414, "URI_TOO_LONG"),
        (get(headers=f"X: {'x' * 9000}\r\n"), 431, "HEADERS_TOO_LARGE"),
        (get(headers="".join(f"X{n}: {'x' * 4000}\r\n" for n in range(20))), 431, "HEADERS_TOO_LARGE"),
        (b"NONSENSE\r\n\r\n", 400, "MALFORMED_REQUEST"),
        (get(headers="A B: c\r\n"), 400, "MALFORMED_REQUEST"),
        (get(headers="Transfer-Encoding: rot13\r\n"), 501, "NOT_IMPLEMENTED"),
    ],
)
def test_what_the_server_refuses_itself_has_the_one_shape(web, request_bytes, status, code):
    got, body = web.ask(request_bytes)
    assert got == status
    error = json.loads(body)["error"]
    assert (error["code"], set(error)) == (code, {"code", "message", "hint", "details"})


def test_clients_that_do_not_read_their_answers_leave_others_theirs(web):
    """A thread is held for seconds at most; the one in this test is free while the other waits."""
    with web.connect() as lazy:
        lazy.sendall(get("/large"))
        assert web.ask(get())[0] == 200


def test_a_long_answer_ends_when_its_process_stops(tmp_path):
    """Nobody who follows a log holds up the stop, and what they were sent has an end."""
    made = Web(tmp_path)
    with made.connect() as client:
        client.sendall(get("/stream"))
        assert b"on" in client.recv(65536) + client.recv(65536)
        made.main.terminate()
        rest = b""
        while piece := client.recv(65536):
            rest += piece
    assert b"stopped" in rest
    assert made.main.wait(30) == 0


def test_orphaned_workers_end_even_with_half_open_connections(tmp_path):
    made = Web(tmp_path)
    clients = []
    try:
        assert made.ask(get())[0] == 200
        for sent in (b"", HALF, HALF + b"\r\n1"):
            clients.append(made.connect())
            clients[-1].sendall(sent)
        assert made.ask(get())[0] == 200
        workers = made.workers()
        assert len(workers) == 1
        made.main.kill()
        made.main.wait(10)
        assert eventually(lambda: identify(workers[0]) is None, 20)
    finally:
        for client in clients:
            client.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(made.main.pid, signal.SIGKILL)


def test_tls_is_served_and_unfinished_handshakes_hold_nothing(tmp_path):
    chain, key = certificate(tmp_path)
    made = Web(tmp_path, "--certfile", str(chain), "--keyfile", str(key))
    context = ssl._create_unverified_context()
    try:
        with contextlib.ExitStack() as held:
            for sent in (b"", b"\x16\x03\x01\x02", b"GET / HTTP/1.1\r\n\r\n") * 4:
                held.enter_context(made.connect()).sendall(sent)
            for _ in range(3):
                with context.wrap_socket(made.connect()) as client:
                    body = b"y" * 300_000
                    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
                    client.sendall(head + body)
                    assert answer_of(client) == (200, b"POST 300000 yyyy")
    finally:
        made.main.terminate()
        made.main.wait(30)
