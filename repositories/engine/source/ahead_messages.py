"""What a process that walks ahead tells: parts of listings, in manifest order, and that it is through.

Owns the messages and how they go through a socket, and the memory beside it: contents of small files lie in a slot of
it, and the slot is the sender's again when it has been given back. Several parts go in one message: most directories
hold little.
"""

import contextlib
import select
import socket
import struct
from collections.abc import Callable
from mmap import mmap
from typing import Final

import msgspec

from repositories.engine.limits import MIB
from repositories.engine.source.status import Look

SLOTS: Final = 8
SLOT_BYTES: Final = MIB
NO_SLOT: Final = -1
TAG_BYTES: Final = 16

Report = tuple[int, str, bytes, str]
"""What was left out before the look of this number: kind, path and detail of a problem."""
ENTERING: Final = -1
"""In the place of that number: before the directory was entered, or another one in its stead was not."""

_LENGTH: Final = struct.Struct(">I")
_PIECE: Final = 1 << 18
_LOOK_MILLISECONDS: Final = 200


class ContentAhead(msgspec.Struct, array_like=True, frozen=True):
    """What was read of the file of this look: where its content lies in the message's slot, and its attributes.

    The `tag` stands before the content as long as nothing else is written there.
    """

    number: int
    begin: int
    end: int
    tag: bytes
    xattrs: list[tuple[bytes, bytes]]


class Part(msgspec.Struct, array_like=True, frozen=True):
    """A piece of one directory's listing; a directory with more of it comes again in the next part.

    `looked_ns` is wall time before the first of these looks, `looked_at` the same in seconds of the system's monotonic
    clock; `identity` (st_dev, st_ino) of the directory. With
    `is_end` it is no directory's: the walk is through.
    """

    path: bytes
    identity: tuple[int, int]
    looked_ns: int
    looked_at: float
    looks: list[Look]
    reports: list[Report]
    contents: list[ContentAhead]
    is_last: bool
    is_end: bool = False


class Message(msgspec.Struct, array_like=True, frozen=True):
    """Parts, and the slot in which their contents lie."""

    slot: int
    parts: list[Part]


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Message)


class EndedError(Exception):
    """The process has ended, and had not told all."""


def new_slots() -> mmap:
    """Return memory that is shared with processes forked later."""
    return mmap(-1, SLOTS * SLOT_BYTES)


def send(channel: socket.socket, message: Message) -> None:
    """Send parts; waits while the other side is far behind. Raises OSError."""
    body = _encoder.encode(message)
    channel.sendall(_LENGTH.pack(len(body)) + body)


def slots_given_back(channel: socket.socket) -> bytes:
    """Wait until slots are given back; return their numbers. Raises OSError when nobody is there to do so."""
    given = channel.recv(SLOTS)
    if not given:
        raise ConnectionError("the other process has ended")
    return given


class MessageReader:
    """The other end. `waiting` is called several times a second while nothing comes; it may raise."""

    def __init__(self, channel: socket.socket, waiting: Callable[[], None]) -> None:
        self._channel = channel
        self._waiting = waiting
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._buffer = bytearray()

    def read(self) -> Message:
        """Return the next message. Raises EndedError."""
        length = _LENGTH.unpack(self._take(_LENGTH.size))[0]
        return _decoder.decode(self._take(length))

    def give_back(self, message: Message) -> None:
        """Let the contents of a message be written over."""
        if message.slot != NO_SLOT:
            with contextlib.suppress(OSError):  # it has told all that it had to tell
                self._channel.send(bytes([message.slot]))

    def _take(self, count: int) -> bytes:
        buffer = self._buffer
        while len(buffer) < count:
            while not self._poll.poll(_LOOK_MILLISECONDS):
                self._waiting()
            try:
                piece = self._channel.recv(_PIECE)
            except OSError as error:
                raise EndedError from error
            if not piece:
                raise EndedError
            buffer += piece
        taken = bytes(buffer[:count])
        del buffer[:count]
        return taken
