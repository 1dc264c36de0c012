"""Checks packs: every byte of them.

Owns reading whole packs, two at a time, and which chunks are bad. A first failure is put down to the transport and
read again.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import blake3

from repositories.engine.check.report import Beat, PackResult
from repositories.engine.errors import (
    EngineError,
    IntegrityError,
    ObjectMissingError,
    RepositoryError,
    UnsupportedFormatError,
)
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.packs.blocks import open_block, verify_chunks
from repositories.engine.packs.directory import HASH_UNKNOWN, PackRecord
from repositories.engine.packs.reader import parse_pack_header
from repositories.engine.packs.table import table_ids
from repositories.engine.repository import Repository
from repositories.engine.storage.medium import is_barred, require_medium

_READERS = 2
MISSING = "it is missing"


def read_packs(repository: Repository, packs: Iterable[PackRecord], beat: Beat) -> Iterator[PackResult]:
    """Read and verify packs, each whole; yield the results in order. Raises errors of the medium."""
    waiting: deque[Future[PackResult]] = deque()
    pool = ThreadPoolExecutor(_READERS, "syncova-check")
    try:
        for pack in packs:
            beat()
            waiting.append(pool.submit(_read_pack, repository, pack))
            if len(waiting) > _READERS:
                yield waiting.popleft().result()
        while waiting:
            beat()
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _read_pack(repository: Repository, pack: PackRecord) -> PackResult:
    """Read a pack, and again if anything is wrong: damage in transport must not be taken for damage that is stored."""
    result = _read_once(repository, pack)
    if result.failure is None:
        return result
    again = _read_once(repository, pack)
    return replace(again, twice=again.failure is None)


def _read_once(repository: Repository, pack: PackRecord) -> PackResult:
    ids = ids_of(pack)
    try:
        data = repository.storage.get(object_name(ObjectKind.PACK, pack.pack_id), 0, pack.length + 1)
    except ObjectMissingError:
        return PackResult(pack, 0, tuple(ids), why_missing(repository, pack.pack_id))
    except RepositoryError as error:
        # A sector that cannot be read is damage; a medium that is away is none.
        require_medium(repository.storage, error)
        if is_barred(error):
            return PackResult(pack, 0, (), f"it may not be read here: {error.message}", read=False, barred=True)
        return PackResult(pack, 0, tuple(ids), f"it cannot be read: {error.message}")
    bad, failure = _bad_chunks(repository, pack, data)
    if failure is None and not _is_as_written(repository, pack, data):
        failure = "its bytes are not those that were written; all chunks can be read"
    return PackResult(pack, len(ids) - len(bad), tuple(bad), failure)


def _is_as_written(repository: Repository, pack: PackRecord, data: bytes) -> bool:
    if len(data) != pack.length:
        return False
    if pack.content_hash != HASH_UNKNOWN:
        return blake3.blake3(data).digest() == pack.content_hash
    try:
        header, directory = repository.pack_reader.read_directory(pack.pack_id)
    except (IntegrityError, ObjectMissingError, UnsupportedFormatError):
        return False
    return (header, directory.blocks) == (pack.header, pack.blocks)


def why_missing(repository: Repository, pack_id: bytes) -> str:
    """Return that a pack is missing, and what lies in its place if anything does. Begins with `MISSING`."""
    name = object_name(ObjectKind.PACK, pack_id)
    try:
        repository.storage.size(name)
    except ObjectMissingError as error:
        barred = f" lies in the place of {name}"
        what, found, _ = error.message.partition(barred)
        return f"{MISSING}: {what} lies in its place; put the file back" if found else MISSING
    return MISSING


def ids_of(pack: PackRecord) -> list[bytes]:
    """Return the chunks of a pack; one may come several times."""
    return [chunk for block in pack.blocks for chunk in table_ids(block.table)]


def _bad_chunks(repository: Repository, pack: PackRecord, data: bytes) -> tuple[list[bytes], str | None]:
    bad: list[bytes] = []
    failures: list[EngineError] = []
    view = memoryview(data)
    try:
        seal = repository.store.seal_of(parse_pack_header(pack.pack_id, pack.header))
    except (IntegrityError, UnsupportedFormatError) as error:
        return ids_of(pack), f"the index has another header for it: {error.message}"
    for number, record in enumerate(pack.blocks):
        try:
            block = open_block(seal, number, view[record.offset : record.offset + record.length])
            if block.table_bytes != record.table:
                raise IntegrityError("a block holds other chunks than the index says")
            verify_chunks(block, repository.keyring)
        except (IntegrityError, UnsupportedFormatError) as error:
            bad.extend(table_ids(record.table))
            failures.append(error)
    if not failures:
        return bad, None
    return bad, f"{len(failures)} of {len(pack.blocks)} blocks are damaged: {failures[0].message}"
