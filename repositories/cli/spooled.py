"""The one object of --json where it holds a list that may be too long for memory.

Owns its writing: the list is kept in a temporary file until it is complete, since a failure on the way must leave
stdout to the error object alone.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from repositories.console.terminal import Terminal

_HELD_IN_MEMORY = 16 * 2**20
_PIECE = 2**20


def print_spooled(
    terminal: Terminal,
    head: Mapping[str, Any],
    name: str,
    items: Iterable[Mapping[str, Any]],
    tail: Callable[[], Mapping[str, Any]] = dict,
) -> None:
    """Print the fields of `head`, then the list `name` of `items`, then the fields of `tail`, asked for at the end.

    What the engine has warned of until then comes last, as in `Terminal.document`.
    """
    encode = msgspec.json.encode
    with tempfile.SpooledTemporaryFile(_HELD_IN_MEMORY) as spool:
        spool.write(b"{" + b"".join(encode(key) + b":" + encode(value) + b"," for key, value in head.items()))
        spool.write(encode(name) + b":[")
        comma = b""
        for item in items:
            spool.write(comma + encode(item))
            comma = b",\n"
        last = {**tail(), **terminal.warned_of}
        spool.write(b"]" + b"".join(b"," + encode(key) + b":" + encode(value) for key, value in last.items()) + b"}\n")
        spool.seek(0)
        while block := spool.read(_PIECE):
            terminal.raw(block)
