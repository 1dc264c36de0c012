"""A pack being written: header, blocks, sealed directory, footer, streamed to a temporary file.

Owns the file's layout. One thread at a time appends; nothing is visible in the repository before publish. Where the
medium has no place for such files they have no name, so that a process that is killed leaves none.
"""

import contextlib
import os

import blake3

from repositories.engine.codec.frames import encode_frame
from repositories.engine.codec.sealing import ObjectSeal
from repositories.engine.errors import RepositoryError
from repositories.engine.format.headers import FOOTER_LENGTH, PackFooter
from repositories.engine.format.kinds import ObjectKind, PartKind, object_name
from repositories.engine.format.records import encode
from repositories.engine.fresh_files import nameless_file, new_file, remove_file
from repositories.engine.objects.store import ObjectStore
from repositories.engine.packs.blocks import SealedBlock
from repositories.engine.packs.directory import DIRECTORY_NUMBER, BlockRecord, DirectoryRecord, PackClass, PackRecord
from repositories.engine.storage.medium import medium_errors

_DIRECTORY_LEVEL = 3


class PackFile:
    """One pack on its way to the medium. What is promised is the submitter's count, the rest is the writer's."""

    def __init__(self, store: ObjectStore, pack_class: PackClass) -> None:
        self.pack_class = pack_class
        self.pack_id = store.new_id()
        header = store.header_for(ObjectKind.PACK, self.pack_id)
        self.seal: ObjectSeal = store.seal_of(header)
        self.promised_blocks = 0
        self.promised_chunks = 0
        self.promised_bytes = 0
        self.appended_bytes = 0
        self.length = 0
        self._store = store
        self._hash = blake3.blake3()
        self._blocks: list[BlockRecord] = []
        with medium_errors("a pack being written", writing=True):
            scratch = store.storage.scratch_directory()
            self._is_nameless = scratch is None
            descriptor, self._path = nameless_file("pack-") if scratch is None else new_file(scratch, "pack-")
            self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._write(self.seal.header)

    def append(self, block: SealedBlock) -> None:
        """Write the next block: blocks come in the order of their part numbers."""
        self._blocks.append(BlockRecord(self.length, len(block.part), block.decoded_length, block.table))
        self._write(block.part)
        self.appended_bytes += block.decoded_length

    def finish(self) -> PackRecord:
        """Write directory and footer; return the pack as the index lists it."""
        directory = DirectoryRecord(self.pack_class, len(self._blocks), self.length, tuple(self._blocks), 0)
        frame = encode_frame(encode(directory), _DIRECTORY_LEVEL, padding=self._store.keyring.record.padding)
        part = self.seal.seal(DIRECTORY_NUMBER, PartKind.DIRECTORY, frame)
        directory_offset = self.length
        self._write(part)
        self._write(PackFooter(directory_offset, len(part), 0, self.length + FOOTER_LENGTH).to_bytes())
        if not self._is_nameless:
            with medium_errors("a pack being written", writing=True):
                self._file.close()
        blocks = tuple(self._blocks)
        return PackRecord(self.pack_id, self.length, self._hash.digest(), self.pack_class, self.seal.header, blocks)

    def publish(self) -> None:
        """Put the finished pack on the medium; durable when it returns."""
        self._store.storage.put_file(object_name(ObjectKind.PACK, self.pack_id), self._path)
        # A file without a name is gone with it.
        self._file.close()

    def discard(self) -> None:
        """Remove the temporary file, if it is still there."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            remove_file(self._path)

    def _write(self, data: bytes | bytearray) -> None:
        view = memoryview(data)
        with medium_errors("a pack being written", writing=True):
            while len(view):
                written = self._file.write(view)
                if not written:
                    raise RepositoryError("a pack being written takes no more bytes", hint="check the medium")
                view = view[written:]
        self._hash.update(data)
        self.length += len(data)
