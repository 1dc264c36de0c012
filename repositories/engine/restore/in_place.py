"""Where a backup came from: the target of a restore in place.

Owns when there is such a place. A name of a host is all that tells machines apart, so it must be the same: a path of
that name exists on many machines, and proves nothing.
"""

import os
from collections.abc import Sequence

from repositories.engine.display import show_path, show_text
from repositories.engine.errors import RestoreTargetError
from repositories.engine.manifest.backups import Backup

_FILES = "filesystem"


def in_place_target(backup: Backup, host: str) -> bytes:
    """Return the directory that the backup's source is, or in which it lies when it is a single file.

    A link that the source was named by is followed, as the backup followed it. Raises RestoreTargetError when the
    backup has no such place on `host`.
    """
    source = backup.root.source
    if source.type != _FILES or not source.id.startswith(b"/") or b"\0" in source.id:
        raise RestoreTargetError(
            f"backup {backup.short_id} is of no directory or file, so there is no place to restore it in",
            hint="give --target DIR",
        )
    if source.host != host or not host:
        raise RestoreTargetError(
            f"backup {backup.short_id} was made on {show_text(source.host) or 'an unnamed host'}, and this is "
            f"{show_text(host) or 'an unnamed host'}: its place may hold something else here",
            hint=f"if it is meant nevertheless, say so: --target {show_path(_directory(backup))}",
        )
    return _directory(backup)


def refuse_outside(target: bytes, roots: Sequence[bytes], own: Sequence[bytes]) -> None:
    """Raise RestoreTargetError for a place outside all `roots`, or inside Syncova's `own` data, links resolved."""
    place = os.path.realpath(target)
    if not any(_lies_in(place, os.path.realpath(root)) for root in roots):
        raise RestoreTargetError(
            f"{show_path(target)} lies outside the directories that may be restored in place here",
            hint=f"restore below one of: {', '.join(map(show_path, roots))}",
        )
    if any(_lies_in(place, os.path.realpath(each)) for each in own):
        raise RestoreTargetError(f"{show_path(target)} lies in Syncova's own data", hint="give --target DIR")


def _lies_in(path: bytes, directory: bytes) -> bool:
    return path == directory or path.startswith(directory.rstrip(b"/") + b"/")


def _directory(backup: Backup) -> bytes:
    path = backup.root.source.id
    return path if backup.root.top_entry is not None else os.path.dirname(os.path.realpath(path))
