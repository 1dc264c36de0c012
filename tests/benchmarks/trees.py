"""The trees that are backed up: those made from this machine's own files, working copies, and their changes.

Owns what is changed, by the same rule in each round. Changes working copies only, never a tree of the user's.
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SMALL_FILES = 70_000
IMAGE_BYTES = 2 << 30
_SMALL_ROOTS = (sys.base_prefix, "/usr/include", "/usr/share/doc", "/usr/share")
_IMAGE_ROOTS = ("/usr/lib", "/usr/bin", "/usr/share")
_PART = 32 << 20
_REGION = 64 << 10


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree that is measured, under the name that the result shows."""

    name: str
    path: Path


def make_small_files(place: Path, limit: int) -> Tree:
    """Copy up to `limit` of this machine's files, as they lie in their directories."""
    for source in _files(_SMALL_ROOTS, limit):
        copy = place / str(source).lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    return Tree("small files", place)


def make_disk_image(place: Path, size: int) -> Tree:
    """Make one file of `size` bytes from the contents of this machine's files, in a random order of a fixed seed."""
    place.mkdir()
    order = random.Random(7)
    paths = sorted(_files(_IMAGE_ROOTS, 10 * SMALL_FILES))
    order.shuffle(paths)
    left = size
    with open(place / "disk.img", "wb") as image:
        while left > 0:
            for path in paths:
                with open(path, "rb") as file:
                    left -= image.write(file.read(min(left, _PART)))
                if left <= 0:
                    break
            else:
                left -= image.write(order.randbytes(min(left, _PART)))  # little there: each round is unlike the last
    return Tree("disk image", place)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a tree with its attributes, links and holes. Raises subprocess.CalledProcessError, with what was said."""
    subprocess.run(["cp", "-a", "--", str(source), str(target)], check=True, capture_output=True, text=True)


def change_one_percent(tree: Path, seed: int) -> None:
    """Give one file of a hundred new content of the same length; of a large file one region of a hundred."""
    change = random.Random(seed)
    for number, path in enumerate(_own_files(tree)):
        size = path.stat().st_size
        if size >= 100 * _REGION:
            _overwrite_regions(path, change, size)
        elif number % 100 == 0:
            _write(path, change.randbytes(size))


def leave_four_fifths(tree: Path) -> None:
    """Remove one file of five, and the last fifth of a large file."""
    for number, path in enumerate(_own_files(tree)):
        size = path.stat().st_size
        if size >= 100 * _REGION:
            os.truncate(path, size * 4 // 5)
        elif number % 5 == 0:
            path.unlink()


def _overwrite_regions(path: Path, change: random.Random, size: int) -> None:
    with open(path, "r+b") as file:
        for region in change.sample(range(size // _REGION), size // _REGION // 100):
            file.seek(region * _REGION)
            file.write(change.randbytes(_REGION))


def _write(path: Path, data: bytes) -> None:
    path.unlink()  # another name of the same file keeps its content, and a mode that forbids writing does not matter
    path.write_bytes(data)


def _own_files(tree: Path) -> list[Path]:
    """Return the regular files of a tree in a fixed order; the first name alone of each."""
    seen: set[tuple[int, int]] = set()
    found = []
    for path in sorted(tree.rglob("*")) if tree.is_dir() else [tree]:
        status = path.lstat()
        if path.is_file() and not path.is_symlink() and (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            found.append(path)
    return found


def _files(roots: tuple[str, ...], limit: int) -> Iterator[Path]:
    """Yield readable regular files below some directories, each once."""
    seen: set[str] = set()
    for root in roots:
        for parent, directories, names in os.walk(root):
            directories.sort()
            for name in sorted(names):
                path = os.path.join(parent, name)
                if path in seen or not os.path.isfile(path) or os.path.islink(path) or not os.access(path, os.R_OK):
                    continue
                if len(seen) == limit:
                    return
                seen.add(path)
                yield Path(path)
