"""Changes valid encodings into ones that are nearly valid; the same random numbers give the same changes."""

import contextlib
import random
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tests.engine.hostile.packing import Raw, pack

_NUMBERS = (0, 1, -1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), -(2**31), 4096, 65_537)
_BYTES = (
    b"",
    b"\0",
    b".",
    b"..",
    b"/",
    b"a/b",
    b"/etc/passwd",
    b"x\0y",
    b"n" * 1025,
    b"\xff" * 16,
    bytes(32),
    b"q" * 70_000,
)
_TEXTS = ("", "\x1b[31mred", "\u202egnp", "\r\nfalse line", "t" * 70_000, "\ud800")
_OTHERS: tuple[Any, ...] = (
    None,
    True,
    1.0,
    1.5,
    [],
    Raw(b"\x80"),
    Raw(b"\x91" * 3000 + b"\xc0"),
    Raw(b"\x92\xc0" * 3000 + b"\xc0"),
    Raw(b"\xdd\xff\xff\xff\xff"),
    Raw(b"\xc6\xff\xff\xff\xff"),
    Raw(b"\xdb\xff\xff\xff\xff"),
    Raw(b"\xdd\x00\x01\x00\x00" + b"\xc0" * 65_536),
    Raw(b"\xa2\xff\xfe"),
    Raw(b"\xd6\xff\x00\x00\x00\x01"),
    Raw(b"\xc7\x0c\xff" + bytes(12)),
    Raw(b"\xc1"),
    Raw(b"\xcd\x00\x01"),
)


class Mutator:
    """Makes one variation after the other; `pool` is what parts are spliced in from."""

    def __init__(self, numbers: random.Random, pool: Sequence[bytes]) -> None:
        self._random = numbers
        self._pool = pool

    def mutate(self, data: bytes) -> bytes:
        """Return a variation: of the message's values, or of its bytes."""
        if self._random.random() < 0.7:
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                return self.values(data)
        return self.octets(data)

    def octets(self, data: bytes) -> bytes:
        """Return `data` with one to three changes that know nothing of its meaning."""
        for _ in range(self._random.randint(1, 3)):
            data = self._random.choice(self._OCTETS)(self, data)
        return data

    def values(self, data: bytes) -> bytes:
        """Return a message with one or two other values; raises DecodeError if `data` is none."""
        value = msgspec.msgpack.decode(data)
        for _ in range(self._random.randint(1, 2)):
            value = self._changed(value)
        return pack(value)

    def _changed(self, value: Any) -> Any:
        roll = self._random.random()
        if isinstance(value, list) and value and roll < 0.85:
            at = self._random.randrange(len(value))
            if roll < 0.65:
                return [*value[:at], self._changed(value[at]), *value[at + 1 :]]
            return self._rearranged(value, at)
        if isinstance(value, bytes) and value and roll < 0.6:
            return self.mutate(value)
        return self._foreign(value)

    def _rearranged(self, value: list[Any], at: int) -> list[Any]:
        other = self._random.randrange(len(value))
        return self._random.choice(
            (
                value[:at],
                value[:at] + value[at + 1 :],
                [*value[:at], value[at], *value[at:]],
                [*value, value[other]],
                [*value[:at], value[other], *value[at + 1 :]],
                value[::-1],
                value * self._random.choice((2, 40)),
                [value],
            )
        )

    def _foreign(self, value: Any) -> Any:
        if isinstance(value, int) and self._random.random() < 0.7:
            return self._random.choice((*_NUMBERS, value + 1, value - 1, -value, value * 2))
        kinds: tuple[Sequence[Any], ...] = (_NUMBERS, _BYTES, _TEXTS, _OTHERS)
        return self._random.choice(self._random.choice(kinds))

    def _flip(self, data: bytes) -> bytes:
        at = self._at(data)
        return data[:at] + bytes([data[at] ^ 1 << self._random.randrange(8)]) + data[at + 1 :] if data else data

    def _set(self, data: bytes) -> bytes:
        at = self._at(data)
        return data[:at] + bytes([self._random.choice((0, 1, 0x7F, 0x80, 0xC0, 0xDD, 0xFF))]) + data[at + 1 :]

    def _cut(self, data: bytes) -> bytes:
        return data[: self._at(data)]

    def _lengthen(self, data: bytes) -> bytes:
        return data + self._random.randbytes(self._random.choice((1, 2, 16, 300)))

    def _remove(self, data: bytes) -> bytes:
        at = self._at(data)
        return data[:at] + data[at + self._random.randint(1, 40) :]

    def _repeat(self, data: bytes) -> bytes:
        at = self._at(data)
        return data[:at] + data[at : at + self._random.randint(1, 80)] * self._random.randint(2, 4) + data[at:]

    def _splice(self, data: bytes) -> bytes:
        other = self._random.choice(self._pool) if self._pool else b""
        start = self._at(other)
        return data[: self._at(data)] + other[start : start + self._random.randint(1, 400)] + data[self._at(data) :]

    def _count(self, data: bytes) -> bytes:
        at = self._at(data)
        number = self._random.choice(_NUMBERS) & 0xFFFF_FFFF
        return data[:at] + number.to_bytes(4, "big") + data[at + 4 :]

    def _at(self, data: bytes) -> int:
        return self._random.randrange(len(data)) if data else 0

    _OCTETS: tuple[Callable[["Mutator", bytes], bytes], ...] = (
        _flip, _flip, _set, _cut, _lengthen, _remove, _repeat, _splice, _count
    )  # fmt: skip
