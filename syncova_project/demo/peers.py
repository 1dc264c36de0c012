"""The same tree with restic, where it is installed: first backup, second backup, restore.

Owns running the peer with its defaults in the demo's own directory. Asserts nothing about time.
"""

import os
import shutil
import subprocess
from pathlib import Path

from syncova_project import clock, env


def restic_seconds(directory: Path, tree: bytes, password_file: str) -> dict[str, float] | None:
    """Return restic's seconds for `first`, `second` and `restore`, or None when it is not installed or fails."""
    program = shutil.which("restic")
    if program is None:
        return None
    place = directory / "restic"
    variables = {
        "RESTIC_REPOSITORY": str(place / "repository"),
        "RESTIC_PASSWORD_FILE": password_file,
        "RESTIC_CACHE_DIR": str(place / "cache"),
    }
    steps = {
        "init": ["init"],
        "first": ["backup", "."],
        "second": ["backup", "."],
        "restore": ["restore", "latest", "--target", str(place / "restored")],
    }
    seconds: dict[str, float] = {}
    for name, words in steps.items():
        begun = clock.monotonic()
        done = subprocess.run(
            [program, "--quiet", *words],
            cwd=os.fsdecode(tree),
            env=env.inherited(without_settings=True) | variables,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            return None
        seconds[name] = clock.monotonic() - begun
    shutil.rmtree(place, ignore_errors=True)
    return seconds
