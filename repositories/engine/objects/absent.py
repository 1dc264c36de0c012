"""What it means that a medium holds no config: nothing was made there, or what was made has lost it.

Owns telling these apart. A creation that died left neither index nor packs nor manifests: it puts the config first.
"""

from repositories.engine.errors import EngineError, IntegrityError, RepositoryNotFoundError
from repositories.engine.format.kinds import DIRECTORIES, ObjectKind
from repositories.engine.objects.pairs import list_names
from repositories.engine.objects.unopened import FROM_A_COPY
from repositories.engine.storage.base import Storage

_MADE = (ObjectKind.INDEX, ObjectKind.PACK, ObjectKind.MANIFEST)


def lies_here(storage: Storage) -> bool:
    """Tell whether there is what only a repository that was made holds. Raises errors of the medium."""
    return any(True for kind in _MADE for _ in list_names(storage, kind))


def nothing_there(storage: Storage) -> EngineError:
    """Return the error for a medium without a config. Raises errors of the medium."""
    place = storage.place
    if lies_here(storage):
        return IntegrityError(
            f"no config is left in {storage.shown(DIRECTORIES[ObjectKind.CONFIG])}, but a repository lies there",
            hint=FROM_A_COPY,
        )
    check = "check the location" if "://" in place else "check the path and the mount"
    return RepositoryNotFoundError(
        f"there is no repository at {place or 'this location'}",
        hint=f"{check}; syncova-repo create makes one",
    )
