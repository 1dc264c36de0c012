"""A small application and the worker with short limits, which the tests' gunicorn loads."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from syncova_project.web import connection, long_answers, worker

connection.HEAD_SECONDS = 1.5  # type: ignore[misc]
connection.REQUEST_SECONDS = 2.5  # type: ignore[misc]
WebWorker = worker.WebWorker


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with the length and the end of the body."""
    if environ["PATH_INFO"] == "/stream":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return _stream()
    body = environ["wsgi.input"].read() if environ["PATH_INFO"] != "/unread" else b""
    told = f"{environ['REQUEST_METHOD']} {len(body)} {body[-4:].decode()}".encode()
    if environ["PATH_INFO"] == "/large":
        told = b"x" * 20_000_000
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(told)))])
    return [told]


def _stream() -> Iterator[bytes]:
    """Say something now and then for as long as the process goes on, and then that it stops."""
    yield b"on"
    while long_answers.pause(0.1):
        yield b"."
    yield b"stopped"
