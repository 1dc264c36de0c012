"""A small origin with two sources, made once; each test works on a medium of its own with the same objects."""

import hashlib
from pathlib import Path

from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup, list_backups, walk_entries
from repositories.engine.manifest.streams import read_extents
from repositories.engine.repository import CreateOptions, Repository, create_repository, open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.copying.builders import OTHER_PASSWORD
from tests.engine.repositories import CHEAP, PASSWORD, back_up_tree, make_repository
from tests.engine.trees import change, pattern

Contents = dict[bytes, bytes]


def make_origin(directory: Path) -> MemoryStorage:
    """Return the medium of a repository: two backups of source one, one of source two."""
    storage = MemoryStorage()
    repository = make_repository(storage)
    for name, seed in (("one", 1), ("two", 2)):
        (directory / name).mkdir()
        (directory / name / "large").write_bytes(pattern(300_000, seed))
        (directory / name / "small").write_bytes(b"small %d" % seed)
    back_up_tree(repository, directory / "one", name="one")
    change(directory / "one" / "small", b"changed", 10**18)
    back_up_tree(repository, directory / "one", name="one")
    back_up_tree(repository, directory / "two", name="two")
    return storage


def make_target(origin: MemoryStorage, *, related: bool) -> MemoryStorage:
    """Return the medium of an empty repository."""
    storage = MemoryStorage()
    keyring = opened(origin).keyring if related else None
    create_repository(storage, CreateOptions(password=OTHER_PASSWORD, kdf=CHEAP, reserve_bytes=100, related_to=keyring))
    return storage


def clone(storage: MemoryStorage) -> MemoryStorage:
    """Return a medium of its own with the same objects."""
    copied = MemoryStorage()
    copied.objects.update(storage.objects)
    return copied


def opened(storage: Storage, password: bytes = PASSWORD) -> Repository:
    """Open the repository on a medium, as another process does."""
    return open_repository(storage, password)


def contents(repository: Repository, backup: Backup) -> Contents:
    """Return a hash of each file of a backup, every chunk read. Raises what reading raises."""
    reader = repository.reader()
    found: Contents = {}
    for path, entry in walk_entries(repository, backup):
        digest = hashlib.blake2b(digest_size=16)
        extents = [(0, each) for each in entry.extents or () if isinstance(each, bytes)]
        for _, chunk in extents if entry.stream is None else read_extents(reader, entry.stream):
            digest.update(b"" if chunk is None else reader.read(ChunkKind.DATA, chunk))
        found[path] = digest.digest()
    return found


def all_contents(repository: Repository) -> dict[str, Contents]:
    """Return the contents of all backups by their ids."""
    return {backup.id: contents(repository, backup) for backup in list_backups(repository)}
