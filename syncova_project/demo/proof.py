"""The demo's steps that prove something about the bytes: damage is found, names are hidden, a restore is identical.

Owns the verdict of the comparison. None of these steps needs a server.
"""

import datetime as dt
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from repositories.engine.display import show_path
from syncova_project import clock
from syncova_project.demo.compare import Comparison, compare_trees
from syncova_project.demo.scene import Scene, show_size
from syncova_project.demo.stage import DemoError

_BLOCK = 1 << 20
_SHOWN = 10


def damage(scene: Scene) -> None:
    """Flip one byte in a copy of the repository; the check must find it."""
    scene.step("One byte flipped in a copy of the repository")
    shutil.copytree(scene.repository, scene.damaged)
    pack = max((path for path in (scene.damaged / "packs").rglob("*") if path.is_file()), key=_size)
    pack.chmod(0o600)
    with pack.open("r+b") as file:
        file.seek(_size(pack) // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
    words = ("check", str(scene.damaged), "--read-data", "--password-file", scene.password_file)
    report = scene.stage.command("repo", *words, expect=13)
    scene.result(f"found, exit 13: {report['problems'][0]['message']}")
    shutil.rmtree(scene.damaged, ignore_errors=True)


def secrecy(scene: Scene) -> None:
    """Search a file name that is known to be inside in every byte and name of the repository."""
    scene.step("A file name known to be inside is searched for in the repository's bytes")
    name = _longest_name(scene.tree)
    hits = sum(_hits(path, name) for path in Path(scene.repository).rglob("*"))
    scene.result(f"{hits} hits for {show_path(name)}")
    if hits:
        raise DemoError(f"the name is readable in the repository {hits} times")


def restore(scene: Scene) -> None:
    """Stop all servers, restore from repository and password alone, compare bit for bit."""
    scene.step("The database is stopped; restored from repository and password alone")
    scene.stage.stop()
    backup = scene.runs["second"]["sources"][0]["backup_id"]
    words = ("restore", "--repository", scene.repository, "--password-file", scene.password_file)
    begun = clock.monotonic()
    done = scene.stage.command("agent", *words, "--backup", backup, "--target", str(scene.target))
    scene.seconds["restore"] = clock.monotonic() - begun
    scene.restored = done
    scene.result(f"{done['files']:,} files, {show_size(done['bytes'])} in {scene.seconds['restore']:.1f} s")
    if scene.spoil:
        _spoil(scene.target)
        scene.result("--spoil: one byte of the restored tree was changed")
    started = dt.datetime.fromisoformat(scene.runs["second"]["started_at"])
    taken = int(started.timestamp() * 1_000_000_000)
    found = compare_trees(scene.tree, os.fsencode(scene.target), taken_at_ns=taken, privileged=os.geteuid() == 0)
    _tell(scene, found)
    if not found.equal:
        raise DemoError(f"{len(found.differences)} differences between the tree and what was restored")


def _tell(scene: Scene, found: Comparison) -> None:
    for path, what in found.differences[:_SHOWN]:
        scene.result(f"DIFFERS: {show_path(path)}: {what}")
    if found.privileged:
        scene.result(f"{len(found.privileged):,} owners that only root may set were not set")
    if found.changed:
        scene.result(f"{len(found.changed):,} entries changed in the tree meanwhile and were not judged")
    if found.equal:
        scene.result(
            f"identical: {found.entries:,} entries, {show_size(found.bytes_compared)} compared "
            "(content, type, mode, owner, mtime in ns, links, extended attributes)"
        )


def _spoil(target: Path) -> None:
    files = (path for path in sorted(target.rglob("*")) if path.is_file() and not path.is_symlink() and _size(path))
    victim = next(files)
    status = victim.stat()
    victim.chmod(0o600)
    with victim.open("r+b") as file:
        first = file.read(1)[0]
        file.seek(0)
        file.write(bytes([first ^ 1]))
    victim.chmod(status.st_mode & 0o7777)
    os.utime(victim, ns=(status.st_atime_ns, status.st_mtime_ns))


def _longest_name(tree: bytes) -> bytes:
    names = (name for _directory, _names, files in os.walk(tree) for name in files)
    return max(names, key=len, default=os.path.basename(tree))


def _hits(path: Path, name: bytes) -> int:
    hits = os.fsencode(path.name).count(name)
    if path.is_symlink() or not path.is_file():
        return hits
    return hits + sum(window.count(name) for window in _windows(path, len(name) - 1))


def _windows(path: Path, overlap: int) -> Iterator[bytes]:
    kept = b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield kept + block
            kept = (kept + block)[-overlap:] if overlap else b""


def _size(path: Path) -> int:
    return path.stat().st_size
