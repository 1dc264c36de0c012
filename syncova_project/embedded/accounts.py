"""Which user the servers run as, and what that user can reach.

Owns the choice of the service user (root never runs a server); must not change a mode or an owner.
"""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from syncova_project.embedded.problems import ServiceUserError

DEFAULT_NAME, LAST_RESORT = "syncova", "nobody"


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine; `switched` is true when root starts processes as this user."""

    name: str
    uid: int
    gid: int
    switched: bool
    warning: str = ""


def service_account(wanted: str | None) -> Account:
    """Return the account for the servers: this process's own, or as root the wanted one, syncova, or nobody.

    Raises ServiceUserError when the wanted user does not exist or is root.
    """
    if os.geteuid() != 0:
        return _own_account()
    if wanted:
        return _switched(wanted, asked_for=True)
    for name in (DEFAULT_NAME, LAST_RESORT):
        if _exists(name):
            return _switched(name, asked_for=False)
    raise ServiceUserError(
        "PostgreSQL does not run as root, and neither syncova nor nobody exists here.",
        hint="Create a user: useradd --system --no-create-home syncova",
    )


def own_name() -> str:
    """Return the name of this process's user, or its number where it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def closed_directory(account: Account, path: Path) -> Path | None:
    """Return the first directory on the way to `path` that the account may not pass, or None.

    Judged by mode bits; access lists are not looked at. Parts that do not exist yet are skipped.
    """
    for directory in [*reversed(path.parents), path]:
        try:
            status = directory.stat()
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(status.st_mode) and not _may(account, status, stat.S_IXUSR):
            return directory
    return None


def can_read(account: Account, path: Path) -> bool:
    """Tell whether the account reaches the path and may read it (a directory: may list it)."""
    if closed_directory(account, path.parent) is not None:
        return False
    status = path.stat()
    return _may(account, status, stat.S_IRUSR) and (
        not stat.S_ISDIR(status.st_mode) or _may(account, status, stat.S_IXUSR)
    )


def _may(account: Account, status: os.stat_result, owner_bit: int) -> bool:
    if account.uid == 0:
        return True
    if status.st_uid == account.uid:
        return bool(status.st_mode & owner_bit)
    if status.st_gid == account.gid:
        return bool(status.st_mode & (owner_bit >> 3))
    return bool(status.st_mode & (owner_bit >> 6))


def _own_account() -> Account:
    uid, gid = os.geteuid(), os.getegid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        raise ServiceUserError(
            f"The user id {uid} has no entry in the password database; PostgreSQL's initdb refuses to run without one.",
            hint="Add an entry to /etc/passwd, or run as another user.",
        ) from None
    return Account(name, uid, gid, switched=False)


def _switched(name: str, *, asked_for: bool) -> Account:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise ServiceUserError(
            f"SYNCOVA_SERVICE_USER names {name}, which does not exist here.",
            hint=f"Create it: useradd --system --no-create-home {name}",
        ) from None
    if entry.pw_uid == 0:
        raise ServiceUserError("SYNCOVA_SERVICE_USER is root; servers never run as root.", hint="Name another user.")
    warning = ""
    if name == LAST_RESORT and not asked_for:
        warning = (
            "The servers run as nobody, which other programs may use too. "
            "Better: useradd --system --no-create-home syncova"
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switched=True, warning=warning)


def _exists(name: str) -> bool:
    try:
        return pwd.getpwnam(name).pw_uid != 0
    except KeyError:
        return False
