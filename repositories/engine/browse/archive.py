"""A part of a backup as a tar archive: members with everything that a restore would bring back.

Owns what becomes which member: hard links to the first member of their group, sparse files with their map, times and
attributes. A file is looked at before its header is put out, so that what is damaged can be left out whole.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from repositories.engine.browse import pax
from repositories.engine.browse.contents import HELD, Contents, Data, Emit, emit_zeros
from repositories.engine.browse.holes import Layout
from repositories.engine.display import show_path
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.manifest.order import split
from repositories.engine.manifest.same_file import file_key
from repositories.engine.restore.chunks import AnyChunks, xattrs_of

_KINDS: Final = {
    EntryType.DIRECTORY: pax.DIRECTORY,
    EntryType.LINK: pax.SYMLINK,
    EntryType.FIFO: pax.FIFO,
    EntryType.CHARACTER_DEVICE: pax.CHARACTER_DEVICE,
    EntryType.BLOCK_DEVICE: pax.BLOCK_DEVICE,
}
_NAMED: Final = 100


@dataclass(slots=True)
class Dumped:
    """What was put out, and what was left out because it is damaged (the first 100 by name)."""

    members: int = 0
    written: int = 0
    damaged: int = 0
    damaged_paths: list[bytes] = field(default_factory=list)

    def leave_out(self, path: bytes, count: int = 1) -> None:
        """Count what cannot be read; the signature is that of a reader's `Lost`."""
        self.damaged += count
        if len(self.damaged_paths) < _NAMED:
            self.damaged_paths.append(path)


class Archive:
    """Puts out one member after another. Used by one thread."""

    def __init__(self, source: AnyChunks, emit: Emit, readers: ThreadPoolExecutor, *, skip_damaged: bool) -> None:
        self.done = Dumped()
        self._source = source
        self._out = emit
        self._readers = readers
        self._skip_damaged = skip_damaged
        self._owed = 0
        self._part = b""
        self._first_names: dict[bytes, bytes] = {}

    def add(self, path: bytes, entry: Entry) -> None:
        """Put out one object; `path` is its name in the archive, "" the top directory.

        Raises IntegrityError where it is damaged or impossible, unless such are left out.
        """
        try:
            if entry.type == EntryType.FILE:
                self._file(path, entry)
            else:
                self._other(path, entry)
        except (IntegrityError, ObjectMissingError) as error:
            if not self._skip_damaged or isinstance(error, _BrokenOffError):
                raise IntegrityError(
                    f"{show_path(path or b'.')} cannot be read: {error.message}; the archive ends there, unfinished",
                    hint="--skip-damaged leaves out what is damaged; check shows all of it",
                ) from error
            self.done.leave_out(path)

    def _file(self, path: bytes, entry: Entry) -> None:
        if self._linked(path, entry):
            return
        contents = Contents(self._source, entry, self._readers)
        plan = contents.plan()
        sparse = plan.data_bytes < entry.size
        head = pax.header(
            self._sparse(path, entry, plan) if sparse else self._member(path, entry, pax.FILE, entry.size)
        )
        content = self._looked_at(contents)
        self._begin(head, plan.size if sparse else entry.size)
        try:
            for line in contents.lines(plan) if sparse else ():
                self._put(line)
            for length, data in content:
                self._put_zeros(length) if data is None else self._put(data)
        except (IntegrityError, ObjectMissingError) as error:
            raise _BrokenOffError(error.message) from error
        self._put(pax.padding(plan.data_bytes))
        self._remember(path, entry)

    def _looked_at(self, contents: Contents) -> Iterator[tuple[int, Data | None]]:
        """Return the content; a short one has been read already, a long one too if what is damaged is left out."""
        if contents.entry.size <= HELD:
            return iter([(length, data) for length, data in contents.without_holes()])
        if self._skip_damaged:
            for _ in contents.read():
                pass
        return contents.without_holes()

    def _other(self, path: bytes, entry: Entry) -> None:
        kind = next((member for known, member in _KINDS.items() if known == entry.type), None)
        if kind is None:
            raise IntegrityError("it is of a type that is not known")
        if kind in (pax.CHARACTER_DEVICE, pax.BLOCK_DEVICE) and entry.device is None:
            raise IntegrityError("it is a device without a number")
        if kind != pax.DIRECTORY and self._linked(path, entry):
            return
        name = path if kind != pax.DIRECTORY else path + b"/" if path else b"./"
        self._begin(pax.header(self._member(name, entry, kind, 0)))
        self._remember(path, entry)

    def _linked(self, path: bytes, entry: Entry) -> bool:
        """Put out a link to the first member that is the same file, if there is one."""
        key = file_key(entry)
        first = self._first_names.get(key) if key is not None else None
        if first is None:
            return False
        head = pax.Member(
            kind=pax.LINK,
            name=path,
            mode=entry.mode,
            uid=entry.uid,
            gid=entry.gid,
            mtime_ns=entry.mtime_ns,
            target=first,
        )
        self._begin(pax.header(head))
        self.done.members += 1
        return True

    def _remember(self, path: bytes, entry: Entry) -> None:
        self.done.members += 1
        key = file_key(entry)
        if key is not None:
            self._first_names.setdefault(key, path)

    def _member(self, name: bytes, entry: Entry, kind: bytes, size: int, records: pax.Records = ()) -> pax.Member:
        return pax.Member(
            kind=kind,
            name=name,
            mode=entry.mode,
            uid=entry.uid,
            gid=entry.gid,
            mtime_ns=entry.mtime_ns,
            size=size,
            target=entry.target or b"" if kind == pax.SYMLINK else b"",
            device=entry.device or (0, 0),
            xattrs=xattrs_of(self._source, entry.xattrs),
            records=records,
        )

    def _sparse(self, path: bytes, entry: Entry, plan: Layout) -> pax.Member:
        directory, name = split(path)
        records = (
            (b"GNU.sparse.major", b"1"),
            (b"GNU.sparse.minor", b"0"),
            (b"GNU.sparse.name", path),
            (b"GNU.sparse.realsize", b"%d" % entry.size),
        )
        stand_in = (directory + b"/" if directory else b"") + b"GNUSparseFile.0/" + name
        return self._member(stand_in, entry, pax.FILE, plan.size, records)

    def finish(self) -> None:
        """Put out the end mark: the archive is whole."""
        self._out(pax.END)

    def break_off(self) -> None:
        """End the archive so that no reader takes it for a whole one."""
        self._out(pax.unfinished(self._owed))

    def _begin(self, head: bytes, length: int = 0) -> None:
        self._owed = len(head) + length + len(pax.padding(length))
        self._put(head)

    def _put(self, data: Data) -> None:
        """Put out whole blocks: wherever an interrupt comes, what lies behind it is read as blocks."""
        if self._part:
            data = self._part + bytes(data)
        whole = len(data) - len(data) % pax.BLOCK
        self._part = bytes(data[whole:])
        if whole:
            self._out(data if whole == len(data) else memoryview(data)[:whole])
            self._owed -= whole
            self.done.written += whole

    def _put_zeros(self, count: int) -> None:
        emit_zeros(self._put, count)


class _BrokenOffError(IntegrityError):
    """Content turned out damaged after its header had been put out."""
