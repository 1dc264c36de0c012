"""Whole repositories of which one part was changed, by someone with the keys or without, and all that reads them.

Every reader may refuse, with one of the engine's typed errors; nothing may land outside the target of a restore.
"""

import contextlib
import os
import random
import shutil
from functools import cache
from pathlib import Path

from repositories.engine.backup.options import Hooks
from repositories.engine.browse.criteria import Criteria
from repositories.engine.browse.dump import dump_archive
from repositories.engine.browse.finding import Search
from repositories.engine.browse.looking import entries_of
from repositories.engine.check import CheckRequest, check
from repositories.engine.codec.envelopes import seal_record
from repositories.engine.errors import EngineError, IntegrityError, OperationCancelledError
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import ObjectKind, names_of, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup, list_backups, walk_entries
from repositories.engine.manifest.entries import StreamRef
from repositories.engine.manifest.problems import read_problems
from repositories.engine.manifest.root import encode_root
from repositories.engine.process.describe import backups_document
from repositories.engine.process.label_fields import said_now
from repositories.engine.repository import Repository, open_repository
from repositories.engine.restore import Overwrite, RestoreRequest, restore
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.hostile.mutations import Mutator
from tests.engine.hostile.packing import pack
from tests.engine.hostile.samples import NOW, sample_backup, sample_root
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository

_MOST_DUMPED = 4_000_000
_SEALED = tuple(frozenset(ObjectKind) - {ObjectKind.CONFIG, ObjectKind.SLOT, ObjectKind.KEYRING, ObjectKind.PACK})


@cache
def _base() -> tuple[dict[str, bytes], bytes, tuple[tuple[ChunkKind, bytes], ...]]:
    """Return a repository's objects, the root of its backup, and its pages and streams."""
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"syncova-hostile-{os.getpid()}"
    shutil.rmtree(path, ignore_errors=True)
    _make_tree(path)
    repository = make_repository()
    back_up_tree(repository, path)
    shutil.rmtree(path)
    storage = repository.storage
    assert isinstance(storage, MemoryStorage)
    backup = list_backups(repository)[-1]
    pages = backup.root.pages
    assert pages is not None
    reader = repository.reader()
    parts = [(ChunkKind.PAGE, reader.read(ChunkKind.PAGE, pages.id))]
    streams = [entry.stream for _, entry in walk_entries(repository, backup) if entry.stream is not None]
    parts += [(ChunkKind.STREAM, reader.read(ChunkKind.STREAM, stream.id)) for stream in streams]
    return dict(storage.objects), repository.backups()[-1].root, tuple(parts)


def _make_tree(path: Path) -> None:
    (path / "directory" / "below").mkdir(parents=True)
    (path / "directory" / "file").write_bytes(b"content " * 99)
    os.link(path / "directory" / "file", path / "twin")
    (path / "directory" / "below" / "empty").touch()
    (path / "link").symlink_to("../elsewhere")
    os.mkfifo(path / "pipe")
    with (path / "holes").open("wb") as file:
        for number in range(40):
            file.seek(number * 16384)
            file.write(b"%d" % number)
    with contextlib.suppress(OSError):
        os.setxattr(path / "twin", "user.note", b"value")


_DIRECTORIES = (b"", b"a", b"a/b", b"c", b"link", b"x/y")
_NAMES = (b"a", b"b", b"c", b"link", b"f", b"g", b"h", b"i", b"a b", b"n" * 255, b"n" * 300, b"\xff", b"\x1b[2J")
_S, _D = b"S" * 32, b"D" * 32
_FIELDS: tuple[tuple[object, ...], ...] = (
    (0o755, 0o7777, 0, 0o177777),
    (0, 65_534, 2**31, 2**32 - 1),
    (0, 65_534, 2**32 - 1),
    (4, 4, 3, 0, 8, 2**40, 2**63 - 1),
    (NOW, 0, -1, -(2**63), 2**64 - 1, bytes(16), b"\x7f" + bytes(15), b"\x80" + bytes(15)),
    (NOW, 0, b"\xff" * 16),
    (1, 0, -1, 2**64 - 1),
    (0, 1, 2, 255, -1),
    ([_D], [_D], [3], [4], [_D, 4], [2**62, 2**62], [2**40], [0], [-1, 5], None, [], [_D] * 40, [b"x" * 32]),
    (None, None, [_S, 0, 1, 3], [_S, 1, 1, 3], [_S, 0, 2**60, 2**60], [b"z" * 32, 0, 1, 3]),
    (None, [[b"user.a", b"v"]], [[b"user.a", None, [_S]]], [[b"security.capability", b"v"]],
     [[b"system.posix_acl_access", b"\2\0\0\0"]], [[b"user." + b"n" * 300, b"v"]], [[b"trusted.x", b"v" * 70_000]]),
    (b"../outside", b"a", b"/", b"", b"x" * 5000, None),
    (None, None, [0, 1], [0, 1], [0, 2], [2**64 - 1, -5]),
    ([1, 3], [1, 3], None, [0, 0], [2**31 - 1, 2**31 - 1], [4095, 2**20 - 1]),
)  # fmt: skip
_IMPOSSIBLE: tuple[object, ...] = (
    -1,
    2**16,
    2**63,
    2**32,
    b"short",
    [b"x"],
    [[b"", b""]],
    b"x\0",
    [-1, 0],
    [_S, 65, 1, 3],
)


class Case:
    """One changed repository; `what` says in words what was changed."""

    def __init__(self, numbers: random.Random) -> None:
        objects, self._root, self._parts = _base()
        self._numbers = numbers
        self.storage = MemoryStorage()
        self.storage.objects.update(objects)
        self._mutator = Mutator(numbers, (self._root, *(data for _, data in self._parts)))
        change = numbers.choice(
            (self._bytes_of_an_object, self._record, self._changed_root, self._page, self._tree, self._tree)
        )
        self.what = change()

    def _bytes_of_an_object(self) -> str:
        name = self._numbers.choice(sorted(self.storage.objects))
        if self._numbers.random() < 0.1:
            del self.storage.objects[name]
            return f"{name} removed"
        self.storage.objects[name] = self._mutator.octets(self.storage.objects[name])
        return f"bytes of {name}"

    def _record(self) -> str:
        store = open_repository(self.storage, PASSWORD).store
        kind = self._numbers.choice([each for each in _SEALED if store.ids(each)])
        object_id = self._numbers.choice(store.ids(kind))
        payload = self._mutator.mutate(store.read(kind, object_id))
        data = seal_record(store.sealing_key(), store.header_for(kind, object_id), payload)
        for name in names_of(kind, object_name(kind, object_id)):
            self.storage.objects[name] = data
        return f"record of {kind.name.lower()}"

    def _changed_root(self) -> str:
        root = self._numbers.choice((self._root, sample_backup().root))
        # A session would refuse some of these.
        record = ManifestRecord(0, NOW, 1, bytes(16), self._mutator.mutate(root))
        open_repository(self.storage, PASSWORD).store.put(ObjectKind.MANIFEST, encode(record))
        return "root"

    def _page(self) -> str:
        kind, page = self._numbers.choice(self._parts)
        with open_repository(self.storage, PASSWORD).begin_write() as session:
            page_id, _ = session.put(kind, self._mutator.mutate(page))
            count = self._numbers.choice((1, 2, 5, 8, 9))
            ref = StreamRef(page_id, 0, count, 0)
            root = sample_root(ref) if kind is ChunkKind.PAGE else sample_root(None, problems=ref)
            session.commit(encode_root(root), lambda: None)
        return f"{kind.name.lower()} of a manifest"

    def _tree(self) -> str:
        """Pages that decode, of entries whose fields are each possible or nearly so."""
        choice = self._numbers.choice
        directories = sorted({choice(_DIRECTORIES) for _ in range(self._numbers.randint(1, 4))} | {b""})
        groups: list[list[object]] = []
        count = 0
        for directory in directories:
            names = sorted({choice(_NAMES) for _ in range(self._numbers.randint(1, 6))})
            groups.append([0, directory, [self._entry(name) for name in names]])
            count += len(names)
        with open_repository(self.storage, PASSWORD).begin_write() as session:
            stream, _ = session.put(ChunkKind.STREAM, pack([0, [[3, None]]]))
            chunk, _ = session.put(ChunkKind.DATA, b"data")
            page, _ = session.put(
                ChunkKind.PAGE, pack([0, groups]).replace(b"S" * 32, stream).replace(b"D" * 32, chunk)
            )
            session.commit(encode_root(sample_root(StreamRef(page, 0, count, 0))), lambda: None)
        return "tree"

    def _entry(self, name: bytes) -> list[object]:
        choice = self._numbers.choice
        values = [choice(pool) if self._numbers.random() < 0.25 else pool[0] for pool in _FIELDS]
        if self._numbers.random() < 0.02:
            values[self._numbers.randrange(len(values))] = choice(_IMPOSSIBLE)
        return [choice((1, 2, 2, 3, 4, 5, 6)), name, *values]

    def read_everything(self, place: Path) -> None:
        """Open, list, walk, check and restore; raises only what no reader may raise."""
        with contextlib.suppress(EngineError):
            repository = open_repository(self.storage, PASSWORD)
            self._read(repository, place)

    def _read(self, repository: Repository, place: Path) -> None:
        sound = False
        with contextlib.suppress(EngineError):
            sound = check(repository, CheckRequest(read_data=True), Hooks()).ok
        backups = list_backups(repository)
        backups_document(backups, repository.damaged_manifests(), repository.hurt_manifests(), said_now(repository))
        for backup in backups:
            for read in (_walk, _problems, _dump, _find):
                with contextlib.suppress(EngineError):
                    read(repository, backup)
            self._restore(repository, backup, place, sound=sound)

    def _restore(self, repository: Repository, backup: Backup, place: Path, *, sound: bool) -> None:
        """Restore; what a check called sound must not turn out damaged."""
        overwrite = self._numbers.choice(tuple(Overwrite))
        request = RestoreRequest(os.fsencode(place), (), overwrite, verify=self._numbers.random() < 0.5)
        found = ""
        try:
            found = "damaged" if restore(repository, backup, request, Hooks()).damaged else ""
        except IntegrityError as error:
            found = error.message
        except EngineError:
            pass
        assert not (sound and found), found


def _walk(repository: Repository, backup: Backup) -> None:
    for _ in entries_of(repository.reader(), backup, b"", recursive=True):
        pass


def _dump(repository: Repository, backup: Backup) -> None:
    left = _MOST_DUMPED

    def emit(data: bytes | memoryview) -> None:
        nonlocal left
        left -= len(data)
        if left < 0:
            raise OperationCancelledError("enough")

    dump_archive(repository.reader(), backup, b"", emit, skip_damaged=True)


def _find(repository: Repository, backup: Backup) -> None:
    for _ in Search(repository.reader(), [backup, *list_backups(repository)], Criteria()).results():
        pass


def _problems(repository: Repository, backup: Backup) -> None:
    for _ in read_problems(repository.reader(), backup.root.problems):
        pass
