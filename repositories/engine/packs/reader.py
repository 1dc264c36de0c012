"""Reading packs: one block by one ranged read, or the directory of a pack without any index.

Owns opening what a pack holds. Trusts nothing that is not authenticated.
"""

import collections
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from repositories.engine.codec.frames import decode_frame
from repositories.engine.codec.sealing import ObjectSeal
from repositories.engine.errors import IntegrityError, ObjectMissingError, RepositoryError, UnsupportedFormatError
from repositories.engine.format.headers import (
    FOOTER_LENGTH,
    OBJECT_HEADER_LENGTH,
    ObjectHeader,
    parse_object_header,
    parse_pack_footer,
)
from repositories.engine.format.kinds import ObjectKind, PartKind, object_name
from repositories.engine.format.records import decode
from repositories.engine.limits import MAX_PACK, MAX_RECORD
from repositories.engine.objects.store import ObjectStore
from repositories.engine.packs.blocks import DecodedBlock, open_block
from repositories.engine.packs.directory import DIRECTORY_NUMBER, BlockRecord, DirectoryRecord, check_blocks
from repositories.engine.packs.whole_blocks import WholeBlock, open_whole
from repositories.engine.storage.base import ObjectRange
from repositories.engine.storage.medium import is_of_one_object, require_medium

_SEALS_KEPT = 256
_T = TypeVar("_T")


class BlockPlace(msgspec.Struct, frozen=True):
    """Where a block lies, as index or directory say; `table` is what the block must begin with."""

    pack_id: bytes
    header: bytes
    number: int
    record: BlockRecord


class PackReader:
    """Opens blocks and directories. Safe in several threads."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._seals: collections.OrderedDict[bytes, ObjectSeal] = collections.OrderedDict()
        self._lock = threading.Lock()

    def apart(self) -> "PackReader":
        """Return another of the same medium, which shares no lock with this one."""
        return PackReader(self._store)

    def read_block(self, place: BlockPlace) -> DecodedBlock:
        """Return a block. Raises ObjectMissingError or IntegrityError; damage in transport is given a second read."""

        def read(part: bytes) -> DecodedBlock:
            block = open_block(self._seal(place.pack_id, place.header), place.number, part)
            if block.table_bytes != place.record.table:
                raise IntegrityError("it holds other chunks than the index says", hint="run check")
            return block

        return self._read_part(place, read)

    def read_whole(self, place: BlockPlace) -> WholeBlock:
        """Return a block with its content proven and its frame as it is stored. Raises as `read_block` does."""

        def read(part: bytes) -> WholeBlock:
            block = open_whole(self._seal(place.pack_id, place.header), place.number, part, self._store.keyring)
            if block.table != place.record.table:
                raise IntegrityError("it holds other chunks than the index says", hint="run check")
            return block

        return self._read_part(place, read)

    def _read_part(self, place: BlockPlace, read: Callable[[bytes], _T]) -> _T:
        try:
            return _twice(lambda: read(self._get(place.pack_id, place.record.offset, place.record.length)))
        except (IntegrityError, UnsupportedFormatError) as error:
            # What a newer version writes in another way it announces by a read feature: all else is damage.
            name = object_name(ObjectKind.PACK, place.pack_id)
            raise IntegrityError(f"block {place.number} of {name}: {error.message}", hint="run check") from error

    @property
    def far(self) -> bool:
        """Tell whether blocks that will be read are worth announcing."""
        return self._store.storage.reads_at_once > 1

    def expect(self, places: Iterable[BlockPlace]) -> None:
        """Let these blocks be fetched ahead."""
        self._store.storage.will_read(
            ObjectRange(object_name(ObjectKind.PACK, each.pack_id), each.record.offset, each.record.length)
            for each in places
        )

    def give_up(self) -> None:
        """Let nothing be fetched ahead any more."""
        self._store.storage.give_up_reading()

    def read_directory(self, pack_id: bytes) -> tuple[bytes, DirectoryRecord]:
        """Return clear header and directory of a pack, found through its footer. Raises IntegrityError."""
        return _twice(lambda: self._read_directory(pack_id))

    def _read_directory(self, pack_id: bytes) -> tuple[bytes, DirectoryRecord]:
        name = object_name(ObjectKind.PACK, pack_id)
        size = self._store.storage.size(name)
        if not OBJECT_HEADER_LENGTH + FOOTER_LENGTH <= size <= MAX_PACK:
            raise IntegrityError(f"{name} has an impossible length", hint="run check")
        header = self._get(pack_id, 0, OBJECT_HEADER_LENGTH)
        footer = parse_pack_footer(self._get(pack_id, size - FOOTER_LENGTH, FOOTER_LENGTH))
        end = footer.directory_offset + footer.directory_length
        if footer.length != size or end > size - FOOTER_LENGTH or footer.directory_length > MAX_RECORD:
            raise IntegrityError(f"{name} ends with a footer that does not fit it", hint="run check")
        part = self._get(pack_id, footer.directory_offset, footer.directory_length)
        plain = self._seal(pack_id, header).open(DIRECTORY_NUMBER, PartKind.DIRECTORY, part)
        directory = decode(decode_frame(plain, MAX_RECORD).payload, DirectoryRecord)
        bound = (len(directory.blocks), footer.directory_offset, footer.sections)
        if (directory.parts, directory.blocks_end, directory.sections) != bound:
            raise IntegrityError(f"{name} has a directory of another pack", hint="run check")
        check_blocks(name, directory.blocks, directory.blocks_end)
        return header, directory

    def _seal(self, pack_id: bytes, header: bytes) -> ObjectSeal:
        with self._lock:
            seal = self._seals.get(pack_id)
            if seal is not None and seal.header == header:
                self._seals.move_to_end(pack_id)
                return seal
        parsed = parse_pack_header(pack_id, header)
        seal = self._store.seal_of(parsed)
        with self._lock:
            self._seals[pack_id] = seal
            if len(self._seals) > _SEALS_KEPT:
                self._seals.popitem(last=False)
        return seal

    def _get(self, pack_id: bytes, offset: int, length: int) -> bytes:
        name = object_name(ObjectKind.PACK, pack_id)
        try:
            data = self._store.storage.get(name, offset, length)
        except RepositoryError as error:
            if isinstance(error, ObjectMissingError) or not is_of_one_object(error):
                raise
            # One object that cannot be read is damage; a medium that is away is none.
            require_medium(self._store.storage, error)
            raise IntegrityError(f"{name} cannot be read: {error.message}", hint=error.hint) from error
        if len(data) != length:
            raise IntegrityError(f"{name} is shorter than it should be", hint="run check")
        return data


def parse_pack_header(pack_id: bytes, header: bytes) -> ObjectHeader:
    """Return the header of this pack. Raises IntegrityError, UnsupportedFormatError."""
    parsed = parse_object_header(header)
    if parsed.kind is not ObjectKind.PACK or parsed.object_id != pack_id:
        raise IntegrityError("a pack has another object's header", hint="run check")
    return parsed


def _twice(read: Callable[[], _T]) -> _T:
    """Return what `read` returns; one failure of integrity is put down to the transport and tried again."""
    try:
        return read()
    except IntegrityError:
        return read()
