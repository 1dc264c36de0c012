"""Backups without files: chunks put into a session and proven readable."""

import hashlib

from repositories.engine.ids import ChunkKind
from repositories.engine.repository import Repository, WriteOptions, WriteSession

SMALL_PACKS = WriteOptions(workers=2, pack_target=1_500_000)


def chunks_of(seed: int, large: int = 2, small: int = 30) -> list[bytes]:
    """Return content that is the same in each run: chunks of 1 MiB that do not compress, small ones that do."""
    noise = hashlib.shake_128(seed.to_bytes(4, "big")).digest(large << 20)
    texts = [f"file {seed} {number} ".encode() * (10 + number) for number in range(small)]
    return [noise[at << 20 : (at + 1) << 20] for at in range(large)] + texts


def write(session: WriteSession, seed: int, contents: list[bytes] | None = None) -> bytes:
    """Put the content of `seed` and a page that lists it; return the root that names both."""
    contents = chunks_of(seed) if contents is None else contents
    ids = [session.put(ChunkKind.DATA, content)[0] for content in contents]
    page, _ = session.put(ChunkKind.PAGE, b"".join(ids))
    return page


def commit(repository: Repository, seed: int, options: WriteOptions = SMALL_PACKS) -> str:
    """Make one backup of `seed`; return its manifest's id."""
    with repository.begin_write(options) as session:
        return session.commit(write(session, seed), lambda: None)


def require_readable(repository: Repository) -> list[bytes]:
    """Read every chunk of every backup; return the pages that are the roots, oldest first."""
    reader = repository.reader()
    roots = [backup.root for backup in repository.backups()]
    for root in roots:
        page = reader.read(ChunkKind.PAGE, root)
        for at in range(0, len(page), 32):
            content = reader.read(ChunkKind.DATA, page[at : at + 32])
            assert repository.keyring.chunk_id(ChunkKind.DATA, content) == page[at : at + 32]
    return roots


def nothing() -> None:
    """Confirm a commit."""


def names(repository: Repository, prefix: str) -> list[str]:
    """Return the names of the objects whose names begin like this."""
    return [stored.name for stored in repository.object_names(prefix)]
