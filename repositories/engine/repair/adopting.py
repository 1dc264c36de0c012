"""Making backups of void manifests: those that a session put after a prune had given up on it (engine.md, section 5).

Owns the proof that everything such a manifest needs is there, readable and not marked, before it is committed again as
a new manifest with a fence that counts.
"""

from collections.abc import Sequence

from repositories.engine.check.packs import read_packs
from repositories.engine.check.references import ReferenceCheck
from repositories.engine.check.report import Beat
from repositories.engine.check.void import VoidManifest, void_manifests
from repositories.engine.copying.session import CopySession
from repositories.engine.display import show_count, show_text
from repositories.engine.errors import BackupNotFoundError, CommitRefusedError, IntegrityError
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.ids import ChunkKind
from repositories.engine.index.lookup import Location
from repositories.engine.manifest.backups import list_backups
from repositories.engine.reader import ChunkReader
from repositories.engine.repair.report import ALL, Steps
from repositories.engine.repository import Repository, WriteOptions, WriteSession

_NAMED = 10


class Adopter:
    """Adopts void manifests of one repository."""

    def __init__(self, repository: Repository, steps: Steps, beat: Beat) -> None:
        self._repository = repository
        self._steps = steps
        self._beat = beat
        self.adopted: list[str] = []

    def adopt(self, wanted: Sequence[str]) -> None:
        """Adopt those that are `wanted`. Raises BackupNotFoundError for one that is none, before any is adopted."""
        if not wanted:
            return
        stored = list_backups(self._repository, deleted=True)
        there = {backup.id for backup in stored}
        for void in _chosen(void_manifests(self._repository), wanted):
            name = object_name(ObjectKind.MANIFEST, void.manifest_id)
            if void.root.backup_id in there:
                # Its writer, or an earlier repair, committed the same once more.
                continue
            told = f"backup {show_text(void.root.backup_id)} of {show_text(void.root.source.name)} counts again"
            self._steps.do("manifest", name, told, lambda void=void: self._adopt(void))  # type: ignore[misc]

    def _adopt(self, void: VoidManifest) -> None:
        with CopySession(self._repository, WriteOptions(work="repair")) as session:
            # Its age is what it was: keep rules go by it.
            session.coming = void.copied, void.received_ns
            reader = _Noting(session)
            hurt = ReferenceCheck(reader, frozenset(), self._beat).check(void.root)
            if hurt.count:
                raise IntegrityError(
                    f"{show_count(hurt.count, 'object')} of it are gone, the first is {hurt.paths[:1]}"
                )
            packs = session.reader().index.packs()
            needed = [packs[each] for each in sorted(reader.packs)]
            for result in read_packs(self._repository, needed, self._beat):
                if result.bad:
                    raise IntegrityError(f"{object_name(ObjectKind.PACK, result.pack.pack_id)}: {result.failure}")
            try:
                session.commit(void.root_bytes, lambda: None)
            except CommitRefusedError as error:
                raise IntegrityError(error.message, hint=error.hint) from error
        self.adopted.append(void.root.backup_id)


class _Noting(ChunkReader):
    """Reads only what counts as stored, and takes note of the packs: a commit proves that these are still there."""

    def __init__(self, session: WriteSession) -> None:
        packs, keyring = session.repository.pack_reader, session.repository.keyring
        super().__init__(session.reader().index, packs, keyring)
        self._session = session
        self.packs: set[bytes] = set()

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> Location | None:
        """Return where a chunk lies, or None if it does not count as stored."""
        if not self._session.has(kind, chunk_id):
            return None
        location = super().locate(kind, chunk_id)
        if location is not None:
            self.packs.add(location.pack)
        return location

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        """Return a chunk's content. Raises IntegrityError or ObjectMissingError."""
        if self.locate(kind, chunk_id) is None:
            raise IntegrityError(f"chunk {chunk_id.hex()} does not count as stored")
        return super().read(kind, chunk_id)


def _chosen(void: Sequence[VoidManifest], wanted: Sequence[str]) -> list[VoidManifest]:
    if ALL in wanted:
        return list(void)
    chosen: dict[bytes, VoidManifest] = {}
    for each in wanted:
        found = [one for one in void if each and _is_called(one, each)]
        if len(found) != 1:
            reason = "no void manifest is called so" if not found else "several void manifests begin so"
            raise BackupNotFoundError(f"{show_text(each)}: {reason}", hint=_those_there(void))
        chosen[found[0].manifest_id] = found[0]
    return list(chosen.values())


def _those_there(void: Sequence[VoidManifest]) -> str:
    if not void:
        return "no void manifest is there, so there is nothing to adopt"
    names = ", ".join(each.manifest_id.hex() for each in void[:_NAMED])
    more = f" and {len(void) - _NAMED:,} more" if len(void) > _NAMED else ""
    return f"there are {names}{more}; or adopt all"


def _is_called(void: VoidManifest, text: str) -> bool:
    return void.manifest_id.hex().startswith(text) or void.root.backup_id.startswith(text)
