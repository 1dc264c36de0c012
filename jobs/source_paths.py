"""Where sources may lie: under the runner's roots, never in Syncova's own data (execution.md, section 3). Pure.

Owns the normal form of a path and the rule. The same function answers when a job is saved and when it runs.
"""

import os
from collections.abc import Sequence

MAX_PATH_BYTES = 2000


def normalise(path: bytes) -> bytes:
    """Return the one form of an absolute path: no trailing or doubled slash, no `.`. Links are not followed.

    A `..` is refused: behind a link it means another place than its letters say. Raises ValueError, whose text is for
    people.
    """
    if not path.startswith(b"/"):
        raise ValueError("must be an absolute path.")
    if b"\0" in path:
        raise ValueError("must not hold a NUL byte.")
    if b".." in path.split(b"/"):
        raise ValueError("must not hold `..`: write the directory that is meant.")
    normal = b"/" + os.path.normpath(path).lstrip(b"/")
    if len(normal) > MAX_PATH_BYTES:
        raise ValueError(f"must have at most {MAX_PATH_BYTES} bytes.")
    return normal


def refusal(path: bytes, roots: Sequence[bytes], own_data: Sequence[bytes]) -> str | None:
    """Return why a normalised path may not be backed up, None when it may.

    A parent of our own data is fine: the engine leaves the data out. The data itself is no source.
    """
    if not any(lies_in(path, root) for root in roots):
        return "lies outside the directories that this worker group may back up (SYNCOVA_SOURCE_ROOTS)."
    if any(lies_in(path, own) for own in own_data):
        return "holds Syncova's own data, which a backup of itself would never finish."
    return None


def lies_in(path: bytes, directory: bytes) -> bool:
    """Tell whether `path` is `directory` or below it."""
    plain = directory.rstrip(b"/")
    return path == (plain or b"/") or path.startswith(plain + b"/")
