"""Six backups, a forget, a prune, a check and restores at once, as real processes; half of them in another namespace.

Owns starting them and what must hold when they have ended. Shared by the suite and by tests/long/crowd.py.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.manifest.backups import list_backups
from repositories.engine.restore import RestoreRequest, restore
from repositories.engine.storage.local import LocalStorage
from tests.engine.faults.member import KEPT_OF_A_SOURCE, digest_of, opened
from tests.engine.faults.oracle import Oracle
from tests.engine.faults.victims import ROOT
from tests.engine.repositories import make_repository

MEMBERS = [*("backup" for _ in range(6)), "forget", "prune", "check", "restore"]
IN_A_CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def can_contain() -> bool:
    """Tell whether a pid namespace can be made here."""
    try:
        return subprocess.run([*IN_A_CONTAINER, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def run_crowd(place: Path, seconds: float, *, contained: bool = False) -> Counter[str]:
    """Let all of them work for so long; return how often each role had its turn. What they raise fails."""
    make_repository(LocalStorage(str(place / "repository")))
    (place / "kept").mkdir()
    running = []
    for number, role in enumerate(MEMBERS):
        around = IN_A_CONTAINER if contained and number % 2 else ()
        words = [sys.executable, "-m", "tests.engine.faults.member", role, str(place), str(seconds), str(number)]
        running.append(subprocess.Popen([*around, *words], cwd=ROOT, stderr=subprocess.PIPE))
    told = [process.communicate(timeout=seconds + 900)[1].decode() for process in running]
    assert not any(process.returncode for process in running), "\n".join(told)
    turns: Counter[str] = Counter()
    for number, role in enumerate(MEMBERS):
        turns[role] += int((place / f"turns {role} {number}").read_text())
    return turns


def require_newest(place: Path) -> None:
    """The newest two of each source, as they were reported to be committed, are there and whole; prune the rest."""
    written = [json.loads(path.read_text()) for path in (place / "kept").iterdir()]
    repository = opened(place)
    listed = {backup.id: backup for backup in list_backups(repository)}
    for number in range(6):
        of_source = [each for each in written if each["source"] == f"tree {number}"]
        of_source.sort(key=lambda each: int(each["turn"]))
        assert of_source
        for each in of_source[-KEPT_OF_A_SOURCE:]:
            assert each["id"] in listed, "a backup that was reported and that nobody deleted is gone"
            target = place / "at last" / each["id"]
            target.parent.mkdir(exist_ok=True)
            assert restore(repository, listed[each["id"]], RestoreRequest(bytes(target)), Hooks()).exit_code == 0
            assert digest_of(target) == each["facts"]
    Oracle(LocalStorage(str(place / "repository")), place).prune()
