"""A small application and the worker with short limits, which the tests' gunicorn loads."""

from collections.abc import Callable, Iterable
from typing import Any

from syncova_project.web import connection, worker

connection.HEAD_SECONDS = 1.5  # type: ignore[misc]
connection.REQUEST_SECONDS = 2.5  # type: ignore[misc]
WebWorker = worker.WebWorker


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with the length and the end of the body."""
    body = environ["wsgi.input"].read() if environ["PATH_INFO"] != "/unread" else b""
    told = f"{environ['REQUEST_METHOD']} {len(body)} {body[-4:].decode()}".encode()
    if environ["PATH_INFO"] == "/large":
        told = b"x" * 20_000_000
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(told)))])
    return [told]
