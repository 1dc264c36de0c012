"""When a request counts as whole: at its last byte, however its bytes come in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncova_project.web.framing import BODY_LIMIT, HEAD_LIMIT, Framing

REQUESTS = {
    "no body": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a length": b"POST / HTTP/1.1\r\ncontent-LENGTH:  5\r\n\r\nabcde",
    "chunks": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"4\r\nab\r\n\r\n10;x=y\r\n0123456789abcdef\r\n0\r\n\r\n",
    "trailers": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n",
}


@pytest.mark.parametrize("name", REQUESTS)
@given(data=st.data())
def test_a_request_is_whole_at_its_last_byte(name, data):
    request = REQUESTS[name]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(request) - 1))))
    framing, buffer = Framing(), bytearray()
    for start, end in zip([0, *cuts], [*cuts, len(request)], strict=True):
        buffer += request[start:end]
        assert framing.is_whole(buffer) == (end == len(request))
    assert framing.is_whole(buffer + b"GET /next")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 1024,
        b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (BODY_LIMIT + 1),
        b"POST / HTTP/1.1\r\nTransfer-Encoding: rot13\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_what_the_parser_or_the_application_refuses_is_not_waited_for(request_bytes):
    assert Framing().is_whole(bytearray(request_bytes))


def test_bounds_hold_for_head_and_chunks():
    framing, head = Framing(), bytearray(b"GET / HTTP/1.1\r\nX: " + b"x" * HEAD_LIMIT)
    assert not framing.is_whole(head)
    assert framing.is_too_long(head)
    framing, body = Framing(), bytearray(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n")
    assert not framing.is_whole(body)
    assert not framing.is_too_long(body)
    assert framing.is_too_long(body + bytes(BODY_LIMIT + HEAD_LIMIT))
