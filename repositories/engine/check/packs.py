"""Checks packs: their sizes, and with `read_data` every byte of them.

Owns reading whole packs, two at a time, and which chunks are bad. A first failure is put down to the transport and
read again.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import blake3

from repositories.engine.check.report import Beat, Findings, PackResult
from repositories.engine.display import show_count
from repositories.engine.errors import (
    EngineError,
    IntegrityError,
    ObjectMissingError,
    RepositoryError,
    UnsupportedFormatError,
)
from repositories.engine.format.kinds import DIRECTORIES, ObjectKind, object_name
from repositories.engine.index.recovery import IndexRecovery
from repositories.engine.packs.blocks import open_block, verify_chunks
from repositories.engine.packs.directory import HASH_UNKNOWN, PackRecord
from repositories.engine.packs.reader import parse_pack_header
from repositories.engine.packs.table import table_ids
from repositories.engine.repository import Repository
from repositories.engine.sessions.presence import pack_sizes
from repositories.engine.sessions.views import read_swept_packs

_READERS = 2
_MISSING = "it is missing"


def check_sizes(repository: Repository, packs: Iterable[PackRecord]) -> list[PackResult]:
    """Compare the medium's packs with the index; return those that are missing or cut, with all their chunks as bad."""
    sizes = pack_sizes(repository.storage)
    wrong: list[PackResult] = []
    for pack in packs:
        size = sizes.get(pack.pack_id)
        if size == pack.length:
            continue
        failure = _MISSING if size is None else f"it has {size} bytes; the index says {pack.length}"
        wrong.append(PackResult(pack, 0, tuple(ids_of(pack)), failure, read=False))
    return wrong


def without_swept(repository: Repository, results: Iterable[PackResult]) -> list[PackResult]:
    """Return results without packs that are missing because a prune took them away since the index was read.

    Nothing needs those: a prune that began after this session waits for its end (engine.md, section 5).
    """
    kept = list(results)
    if all(result.failure != _MISSING for result in kept):
        return kept
    swept = read_swept_packs(repository.store)
    return [result for result in kept if result.failure != _MISSING or result.pack.pack_id not in swept]


def report_packs(
    repository: Repository, results: Iterable[PackResult], lost: frozenset[bytes], findings: Findings
) -> int:
    """Report the packs that something is wrong with; return how many hold nothing that is lost for it.

    Those were stored again by a later backup: nothing needs them, and only a prune can take them out of the index.
    """
    replaced = 0
    for result in without_swept(repository, results):
        if result.failure is None:
            continue
        if result.bad and lost.isdisjoint(result.bad):
            replaced += 1
        else:
            findings.add("pack", object_name(ObjectKind.PACK, result.pack.pack_id), result.failure)
    return replaced


def report_recovery(recovery: IndexRecovery | None, findings: Findings) -> None:
    """Report an index that lacks packs which backups need."""
    if recovery is not None and recovery.needed:
        count = show_count(len(recovery.found), "pack")
        findings.add(
            "index",
            DIRECTORIES[ObjectKind.INDEX],
            f"backups need what {count} hold that no readable index segment names; they can be restored, more slowly",
        )


def unreferenced(repository: Repository, known: Iterable[bytes]) -> int:
    """Return how many packs no index names: leavings of backups that were broken off."""
    return len(pack_sizes(repository.storage).keys() - set(known))


def unused(packs: Iterable[PackRecord], is_used: Callable[[bytes], bool], beat: Beat) -> tuple[int, int]:
    """Return how many packs hold no chunk that is used, and their bytes."""
    count = total = 0
    for pack in packs:
        beat()
        if not any(map(is_used, ids_of(pack))):
            count, total = count + 1, total + pack.length
    return count, total


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
        return PackResult(pack, 0, tuple(ids), _MISSING)
    except RepositoryError as error:
        # A sector that cannot be read is damage; a medium that is away is none.
        _require_medium(repository, error)
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


def _require_medium(repository: Repository, error: RepositoryError) -> None:
    """Raise `error` if nothing else can be read either."""
    try:
        next(iter(repository.storage.list(DIRECTORIES[ObjectKind.CONFIG] + "/")), None)
        repository.storage.size(object_name(ObjectKind.CONFIG, repository.config.repository_id))
    except ObjectMissingError:
        return
    except RepositoryError:
        raise error from None


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
