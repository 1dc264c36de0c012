"""What passes between a restore and the processes that write files for it: parcels of files, and what became of them.

Owns the messages and how they go through a socket. Open directories go beside them: no process looks for its way in
the target by a path. Contents never do.
"""

import socket
import struct
from collections.abc import Sequence
from typing import Final

import msgspec

from repositories.engine.manifest.entries import Entry

MOST_DIRECTORIES: Final = 200
"""Descriptors in one message; Linux takes 253."""
_HEAD: Final = struct.Struct(">II")
_PIECE: Final = 1 << 20


class Report(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An attribute that the file with this number in its parcel could not be given."""

    number: int
    kind: str
    errno: int | None
    text: str | None


class Outcome(msgspec.Struct, array_like=True, frozen=True):
    """What became of a parcel: bytes of content written, the numbers of files that are left to do, and reports."""

    written: int
    left: list[int]
    reports: list[Report]


Parcel = list[tuple[int, Entry]]
"""Files, in the order in which they are to be written, each with the number of its directory."""

_encoder: Final = msgspec.msgpack.Encoder()
_parcels: Final = msgspec.msgpack.Decoder(Parcel)
_outcomes: Final = msgspec.msgpack.Decoder(Outcome)


def send_parcel(channel: socket.socket, parcel: Parcel, directories: Sequence[int]) -> None:
    """Send files and the open directories that they belong into. Raises OSError."""
    body = _encoder.encode(parcel)
    socket.send_fds(channel, [_HEAD.pack(len(body), len(directories))], directories)
    channel.sendall(body)


def receive_parcel(channel: socket.socket) -> tuple[Parcel, list[int]] | None:
    """Return files and open directories, which the caller closes; None at the end. Raises OSError."""
    head, directories, _, _ = socket.recv_fds(channel, _HEAD.size, MOST_DIRECTORIES)
    if not head:
        return None
    length, count = _HEAD.unpack(head)
    if count != len(directories):
        raise ConnectionError("a parcel came without its directories")
    return _parcels.decode(_receive(channel, length)), directories


def send_outcome(channel: socket.socket, outcome: Outcome) -> None:
    """Tell what became of a parcel. Raises OSError."""
    body = _encoder.encode(outcome)
    channel.sendall(_HEAD.pack(len(body), 0) + body)


def receive_outcome(channel: socket.socket) -> Outcome:
    """Return what became of a parcel. Raises OSError when nobody is there any more who could tell."""
    length, _ = _HEAD.unpack(_receive(channel, _HEAD.size))
    return _outcomes.decode(_receive(channel, length))


def _receive(channel: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = channel.recv(min(length - len(parts), _PIECE))
        if not part:
            raise ConnectionError("the other process has ended")
        parts += part
    return bytes(parts)
