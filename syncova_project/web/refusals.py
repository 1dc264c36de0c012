"""What web answers when a request does not even reach the application: the one error shape, as raw HTTP.

Owns the sentences for the statuses that the server itself gives. Repeats nothing that the client sent.
"""

import json
from http import HTTPStatus
from typing import Final

_TOLD: Final = {
    400: ("MALFORMED_REQUEST", "The request cannot be read.", "Check its address, its headers and its encoding."),
    403: ("PERMISSION_DENIED", "This request is not allowed.", ""),
    408: ("REQUEST_TIMEOUT", "The request did not arrive whole in time.", "Send it again, without pauses."),
    413: ("REQUEST_TOO_LARGE", "The request's body is too large.", "Send less at once."),
    414: ("URI_TOO_LONG", "The request's address is too long.", "Leave out parameters."),
    417: ("EXPECTATION_FAILED", "What the request expects is not offered.", "Leave out its Expect header."),
    431: ("HEADERS_TOO_LARGE", "The request's headers are too large.", "Send fewer or shorter ones."),
    501: ("NOT_IMPLEMENTED", "This transfer encoding is not offered.", "Send Content-Length, or chunks."),
}
_INTERNAL: Final = ("INTERNAL", "The server failed at this request.", "The server's log has the reason.")


def refusal(status: int) -> bytes:
    """Return the whole answer; the connection ends after it."""
    code, message, hint = _TOLD.get(status, _INTERNAL)
    body = json.dumps({"error": {"code": code, "message": message, "hint": hint, "details": {}}}).encode()
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        "Connection: close\r\n"
        "Content-Type: application/json\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body
