"""Checks the small objects that everything depends on: both copies there, both whole.

Owns the reading of each copy by itself; a reader elsewhere is content with either.
"""

from repositories.engine.check.report import Beat, Findings
from repositories.engine.errors import IntegrityError, ObjectMissingError, RetiredKeyError
from repositories.engine.format.kinds import DIRECTORIES, WRITTEN_TWICE, ObjectKind, names_of, object_id_of
from repositories.engine.repository import Repository

_OPENED_OTHERWISE = frozenset({ObjectKind.CONFIG, ObjectKind.KEYRING, ObjectKind.SLOT})
_SEALED_ONCE = (
    ObjectKind.CHECKPOINT,
    ObjectKind.ANNOTATION,
    ObjectKind.TOMBSTONE,
    ObjectKind.MARK,
    ObjectKind.CONTROLLER,
    ObjectKind.VERIFIED,
    ObjectKind.DAMAGE,
)


def check_copies(repository: Repository, findings: Findings, beat: Beat) -> int:
    """Read every small object in every copy; return how many objects there are."""
    checked = 0
    for kind in (*sorted(WRITTEN_TWICE), *_SEALED_ONCE):
        for name in repository.store.names(kind):
            beat()
            _check_object(repository, kind, name, findings)
            checked += 1
    _, damaged = repository.slots()
    if damaged:
        findings.add("keyring", DIRECTORIES[ObjectKind.SLOT], f"{damaged} key slots are damaged")
    return checked


def _check_object(repository: Repository, kind: ObjectKind, name: str, findings: Findings) -> None:
    seen: dict[str, bytes] = {}
    for copy in names_of(kind, name):
        try:
            data = repository.storage.get(copy)
            _open(repository, kind, name, data)
        except RetiredKeyError:
            return  # it does not count: as if it were not there
        except (ObjectMissingError, IntegrityError) as error:
            findings.add("copy", copy, error.message)
            continue
        seen[copy] = data
    if len(set(seen.values())) > 1:
        findings.add("copy", name, "its two copies differ")


def _open(repository: Repository, kind: ObjectKind, name: str, data: bytes) -> None:
    object_id = object_id_of(name)
    if kind not in _OPENED_OTHERWISE and object_id is not None:
        repository.store.open(kind, object_id, data)
