"""The tree that the demo backs up when none is named: a copy of the installed environment, which holds still.

Owns making that copy, with a few entries added that ordinary trees lack (hard link, hole, odd names, xattr).
"""

import contextlib
import os
import shutil
import sys
from pathlib import Path


def copy_environment(target: Path) -> None:
    """Copy the interpreter's site-packages to `target` and add entries of every kind; modes and times are kept."""
    source = Path(next(path for path in sys.path if path.endswith("site-packages")))
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    _add_unusual(target / "unusual")


def _add_unusual(directory: Path) -> None:
    directory.mkdir()
    (directory / "empty directory").mkdir(mode=0o750)
    (directory / "secret.txt").write_text("only the owner may read this\n")
    (directory / "secret.txt").chmod(0o600)
    os.link(directory / "secret.txt", directory / "hard link")
    (directory / "symbolic link").symlink_to("../no/such/target")
    (directory / "[b]markup \x1b[31mred\n.txt").write_text("a name that terminals should not obey\n")
    raw = os.fsencode(directory) + b"/not utf-8 \xff\xfe"
    with open(raw, "wb") as file:
        file.write(b"names are bytes\n")
    with open(directory / "sparse.img", "wb") as file:
        file.seek(64 << 20)
        file.write(b"end")
    with contextlib.suppress(OSError):  # the file system may know no user attributes
        os.setxattr(directory / "secret.txt", "user.origin", b"syncova demo")
    os.utime(directory / "secret.txt", ns=(1_000_000_007, -86_400_000_000_001))


def tree_size(root: bytes) -> tuple[int, int]:
    """Return (entries, bytes on disk) below `root`, links not followed."""
    entries = total = 0
    waiting = [root]
    while waiting:
        with os.scandir(waiting.pop()) as listing:
            for entry in listing:
                entries += 1
                total += entry.stat(follow_symlinks=False).st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return entries, total
