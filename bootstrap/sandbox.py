"""Surroundings of `test`, `lint` and `bench`. Owns `.syncova-test/`: what they write lies in the clone, and no server,
setting or secret that the caller's environment names reaches them.
"""

import hashlib
import os
import re
import shutil
import stat
from typing import Dict

from bootstrap.failures import BootstrapError

_KEPT = ("SYNCOVA_SERVICE_USER",)


def enter(clone: str, variables: Dict[str, str]) -> Dict[str, str]:
    """Change into the clone and return the variables to run with.

    HOME stays, since pip and git are configured there.
    """
    os.chdir(clone)
    place = os.path.join(clone, ".syncova-test")
    os.makedirs(place, exist_ok=True)
    temporary = os.path.join(_temporary_place(clone), "tmp")
    os.makedirs(temporary, exist_ok=True)
    # As root some tests become another user for a while, who needs temporary files too.
    os.chmod(temporary, 0o1777 if os.geteuid() == 0 else 0o700)
    clean = {name: value for name, value in variables.items() if name in _KEPT or not _names_the_outside(name)}
    for name, directory in (
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
    ):
        clean[name] = os.path.join(place, directory)
        os.makedirs(clean[name], mode=0o700, exist_ok=True)
    clean["TMPDIR"] = temporary
    return clean


def session_directory(clone: str) -> str:
    """Return a directory of this process alone, with a short path, after removing those of processes that are gone.

    Short, since tests bind Unix sockets below it; it stays when the tests end, to be looked at.
    """
    place = _temporary_place(clone)
    for name in os.listdir(place):
        owner = re.match(r"^t(\d+)b?$", name)
        if owner and not _lives(int(owner.group(1))):
            shutil.rmtree(os.path.join(place, name), ignore_errors=True)
    return os.path.join(place, "t{}".format(os.getpid()))


def _temporary_place(clone: str) -> str:
    # Inside the clone, unless root's clone lies where the users that tests become may not enter (a 0700 home).
    inside = os.path.join(clone, ".syncova-test")
    if os.geteuid() != 0 or _others_may_pass(clone):
        return inside
    outside = "/var/tmp/syncova-tmp-" + hashlib.sha256(os.fsencode(clone)).hexdigest()[:8]  # noqa: S108 - checked below
    try:
        os.mkdir(outside, 0o711)
    except FileExistsError:
        about = os.lstat(outside)
        if about.st_uid != 0 or not stat.S_ISDIR(about.st_mode) or about.st_mode & 0o022:
            raise BootstrapError("{} is not root's; remove it and start again".format(outside)) from None
    return outside


def _others_may_pass(directory: str) -> bool:
    while True:
        if not os.stat(directory).st_mode & stat.S_IXOTH:
            return False
        above = os.path.dirname(directory)
        if above == directory:
            return True
        directory = above


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _names_the_outside(name: str) -> bool:
    return name.startswith("SYNCOVA_") or name in ("DJANGO_SETTINGS_MODULE", "TEMP", "TMP")
