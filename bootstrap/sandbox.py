"""Surroundings of `test`, `lint` and `bench`. Owns `.syncova-test/`: what they write lies in the clone, and no server,
setting or secret that the caller's environment names reaches them.
"""

import os
import re
import shutil
from typing import Dict

_KEPT = ("SYNCOVA_SERVICE_USER",)


def enter(clone: str, variables: Dict[str, str]) -> Dict[str, str]:
    """Change into the clone and return the variables to run with.

    HOME stays, since pip and git are configured there.
    """
    os.chdir(clone)
    place = os.path.join(clone, ".syncova-test")
    os.makedirs(place, exist_ok=True)
    clean = {name: value for name, value in variables.items() if name in _KEPT or not _names_the_outside(name)}
    for name, directory in (
        ("TMPDIR", "tmp"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
    ):
        clean[name] = os.path.join(place, directory)
        os.makedirs(clean[name], mode=0o700, exist_ok=True)
    return clean


def session_directory(clone: str) -> str:
    """Return a directory of this process alone, with a short path, after removing those of processes that are gone.

    Short, since tests bind Unix sockets below it; it stays when the tests end, to be looked at.
    """
    place = os.path.join(clone, ".syncova-test")
    for name in os.listdir(place):
        owner = re.match(r"^t(\d+)$", name)
        if owner and not _lives(int(owner.group(1))):
            shutil.rmtree(os.path.join(place, name), ignore_errors=True)
    return os.path.join(place, "t{}".format(os.getpid()))


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
