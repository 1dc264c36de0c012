"""What has come of a download that broke off, kept beside its target until the same download goes on with it.

Owns the name, which says what it is of. Who goes on with a part takes it away first, so that no two write to it.
"""

import contextlib
import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TAG: Final = re.compile(r'"([0-9A-Za-z-]{1,64})"')


@dataclass(frozen=True, slots=True)
class KeptParts:
    """The part of one download to one place, if there is one; `subject` is what it is of."""

    target: Path
    subject: tuple[str, ...]

    def take(self, to: Path) -> str | None:
        """Let the part be the file `to`, and return the tag of what it is of; None where there is none."""
        prefix = self._prefix()
        with contextlib.suppress(OSError):
            for path in sorted(self.target.parent.iterdir()):
                tag = path.name.removeprefix(prefix).removesuffix(".part")
                if path.name != f"{prefix}{tag}.part":
                    continue
                with contextlib.suppress(FileNotFoundError):
                    if _is_ours(path):
                        path.rename(to)
                        return f'"{tag}"'
        return None

    def keep(self, part: Path, tag: str) -> bool:
        """Keep the file `part`, which is of what has this tag; False where that cannot be told by a name."""
        found = _TAG.fullmatch(tag)
        if found is None:
            return False
        part.rename(self.target.with_name(f"{self._prefix()}{found[1]}.part"))
        return True

    def _prefix(self) -> str:
        told = "\0".join((self.target.name, *self.subject))
        return f".syncova-{hashlib.sha256(os.fsencode(told)).hexdigest()[:16]}-"


def _is_ours(path: Path) -> bool:
    """Tell whether a part has what we wrote: the directory may be one where others make files of any name."""
    found = path.lstat()
    is_private = stat.S_IMODE(found.st_mode) == 0o600 and found.st_nlink == 1
    return stat.S_ISREG(found.st_mode) and is_private and found.st_uid == os.geteuid()
