"""Blocks that go from one pack into another as they are: opened, proven, sealed anew, never compressed again.

Owns that way alone. The frame inside the seal (codec, table, payload, padding) stays what it was, byte for byte.
"""

import msgspec

from repositories.engine.codec.frames import decode_frame
from repositories.engine.codec.sealing import ObjectSeal
from repositories.engine.errors import IntegrityError
from repositories.engine.format.kinds import PartKind
from repositories.engine.keys.keyring import Keyring
from repositories.engine.limits import MAX_BLOCK_DECODED
from repositories.engine.packs.blocks import DecodedBlock, SealedBlock, verify_chunks
from repositories.engine.packs.table import parse_table


class WholeBlock(msgspec.Struct, frozen=True):
    """An opened block: the frame as it was sealed, and its parts. Every chunk was re-hashed."""

    frame: bytes
    table: bytes
    count: int
    decoded_length: int

    def __repr__(self) -> str:
        return f"WholeBlock(count={self.count}, decoded_length={self.decoded_length})"

    def sealed_by(self, seal: ObjectSeal, number: int) -> SealedBlock:
        """Return the block as part `number` of another pack. Raises IntegrityError if it cannot be opened again."""
        part = seal.seal(number, PartKind.BLOCK, self.frame)
        if seal.open(number, PartKind.BLOCK, part) != self.frame:
            raise IntegrityError("a block just sealed has another content", hint="check this machine's memory")
        return SealedBlock(part, self.decoded_length, self.table)


def open_whole(seal: ObjectSeal, number: int, part: bytes, keyring: Keyring) -> WholeBlock:
    """Return a block that is authentic, and whose chunks all have the content of their ids. Raises IntegrityError."""
    plain = seal.open(number, PartKind.BLOCK, part)
    frame = decode_frame(plain, MAX_BLOCK_DECODED)
    table = parse_table(frame.table)
    if sum(table.lengths) != len(frame.payload):
        raise IntegrityError("a block's chunks do not fill it", hint="run check")
    verify_chunks(DecodedBlock(table, frame.table, frame.payload), keyring)
    return WholeBlock(plain, frame.table, len(table), len(frame.payload))
