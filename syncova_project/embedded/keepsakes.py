"""Random secrets that are made once and kept in DATA/secrets, one a file, written whole or not at all.

Owns their making, modes and reading. Must not print or log one.
"""

import os
import secrets
from pathlib import Path

from syncova_project.embedded.accounts import Account
from syncova_project.embedded.problems import RESTORING, DataDirectoryError

_BYTES = 32


def keep(directory: Path, name: str, *, reader: Account | None = None, value: str | None = None) -> str:
    """Return the kept secret, made on the first call (random hexadecimal digits unless `value` is given).

    `reader`: the service account that must read the file too (0640, its group); else 0600.
    """
    path = directory / name
    kept = read(path)
    if kept is None:
        kept = secrets.token_hex(_BYTES) if value is None else value
        write(path, kept, reader=reader)
    else:
        protect(path, reader)
    return kept


def write(path: Path, value: str, *, reader: Account | None = None) -> None:
    """Put a private file in place atomically; a crash leaves the old one or the new one."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(value + "\n")
            file.flush()
            os.fsync(file.fileno())
        protect(temporary, reader)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def read(path: Path) -> str | None:
    """Return a kept secret, or None when there is none; an empty or foreign file is refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except PermissionError:
        raise DataDirectoryError(
            f"{path} may not be read by this user.", hint=f"Give it back to its owner with mode 600. {RESTORING}"
        ) from None
    with os.fdopen(descriptor, encoding="utf-8") as file:
        if os.fstat(file.fileno()).st_uid != os.geteuid():
            raise DataDirectoryError(f"{path} belongs to another user.", hint="Remove it, or name another --data.")
        value = file.read().strip()
    if not value:
        raise DataDirectoryError(f"{path} is empty.", hint="Restore it from a copy; what it sealed needs it.")
    return value


def protect(path: Path, reader: Account | None) -> None:
    """Set the mode and group that `keep` promises; the service user may have changed since the file was written."""
    if reader is not None and reader.switched:
        os.chown(path, 0, reader.gid)
        path.chmod(0o640)
    else:
        path.chmod(0o600)
