"""Removes objects of the target with all that lies in them, or only tells what that would remove.

Owns the way down and up again: by descriptors, no link followed, no mounted file system entered, whatever the depth.
What the guard names stays, and so do the directories above it.
"""

import enum
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field

from repositories.engine.manifest.order import join, split
from repositories.engine.metadata.apply import chmod_unopened
from repositories.engine.restore.guard import OTHER_FILE_SYSTEM, Guard
from repositories.engine.restore.ledger import Ledger
from repositories.engine.restore.mounts import Mount, mount_of
from repositories.engine.restore.reasons import explained
from repositories.engine.restore.target import closed_to_us
from repositories.engine.source.descent import Descent


class _Fate(enum.Enum):
    GONE = 1
    STAYS = 2
    ENTERED = 3


@dataclass(slots=True)
class _Frame:
    """A directory that is being emptied; `stays` = something in it does; `mode` is to be put back then."""

    name: bytes
    path: bytes
    names: list[bytes]
    mode: int | None
    stays: bool = False


@dataclass(slots=True)
class _Removal:
    """One object that goes with all it holds."""

    act: bool
    ledger: Ledger
    mount: Mount
    descent: Descent
    frames: list[_Frame] = field(default_factory=list)
    objects: int = 0
    size: int = 0


class Remover:
    """Removes for one restore. Safe in several threads. With `act` False it only looks and counts."""

    def __init__(self, guard: Guard, ledger: Ledger, beat: Callable[[], None], *, act: bool) -> None:
        self._guard = guard
        self._ledger = ledger
        self._beat = beat
        self._act = act

    def remove(self, parent: int, path: bytes) -> bool:
        """Remove the object at `path` from the open directory it lies in; return whether nothing of it is left."""
        return self._remove(parent, path, self._ledger, act=self._act)

    def would_go(self, parent: int, path: bytes) -> bool:
        """Tell whether all of an object could go, without touching or counting it."""
        return self._remove(parent, path, Ledger([]), act=False)

    def loses_a_name(self, status: os.stat_result) -> None:
        """See Guard.loses_a_name."""
        self._guard.loses_a_name(status)

    def _remove(self, parent: int, path: bytes, ledger: Ledger, *, act: bool) -> bool:
        removal = _Removal(act, ledger, mount_of(parent), Descent(os.dup(parent)))
        try:
            fate = self._take(removal, path, split(path)[1])
            while removal.frames:
                fate = self._step(removal, removal.frames[-1])
        finally:
            removal.descent.close()
            ledger.deleted(path, removal.objects, removal.size)
        return fate is _Fate.GONE

    def _step(self, removal: _Removal, frame: _Frame) -> _Fate:
        """Take the next object of the innermost directory, or the directory itself when nothing is left to take."""
        self._beat()
        if frame.names:
            name = frame.names.pop()
            fate = self._take(removal, join(frame.path, name), name)
            frame.stays = frame.stays or fate is _Fate.STAYS
            return fate
        removal.frames.pop()
        removal.descent.up()
        if not frame.stays and self._delete(removal, frame.path, frame.name, os.rmdir):
            return _Fate.GONE
        _put_back(removal, frame)
        if removal.frames:
            removal.frames[-1].stays = True
        return _Fate.STAYS

    def _take(self, removal: _Removal, path: bytes, name: bytes) -> _Fate:
        try:
            status = os.stat(name, dir_fd=removal.descent.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return _Fate.GONE
        except OSError as error:
            return _failed(removal, path, error)
        reason = self._guard.reason_to_spare(path, status)
        if reason is not None:
            return _spared(removal, path, reason)
        if stat.S_ISDIR(status.st_mode):
            return self._enter(removal, path, name, status)
        if not self._delete(removal, path, name, os.unlink):
            return _Fate.STAYS
        removal.size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if removal.act:
            self._guard.loses_a_name(status)
        return _Fate.GONE

    def _enter(self, removal: _Removal, path: bytes, name: bytes, status: os.stat_result) -> _Fate:
        if status.st_dev != removal.mount[0]:
            return _spared(removal, path, OTHER_FILE_SYSTEM)
        closed = closed_to_us(status)
        try:
            if closed and removal.act:
                chmod_unopened(removal.descent.descriptor, name, stat.S_IMODE(status.st_mode) | stat.S_IRWXU)
            removal.descent.down(name)
        except OSError as error:
            if closed and not removal.act:
                # What lies in it cannot be seen without opening it up, which a look must not do.
                removal.objects += 1
                return _Fate.GONE
            return _failed(removal, path, error)
        if removal.descent.identity != (status.st_dev, status.st_ino):
            removal.descent.up()
            return _failed(removal, path, OSError("another directory took its place meanwhile"))
        frame = _Frame(name, path, [], stat.S_IMODE(status.st_mode) if closed and removal.act else None)
        removal.frames.append(frame)
        self._list(removal, frame)
        return _Fate.ENTERED

    def _list(self, removal: _Removal, frame: _Frame) -> None:
        descriptor = removal.descent.descriptor
        try:
            if mount_of(descriptor) != removal.mount:
                _spared(removal, frame.path, OTHER_FILE_SYSTEM)
                frame.stays = True
                return
            frame.names = sorted(map(os.fsencode, os.listdir(descriptor)), reverse=True)
        except OSError as error:
            _failed(removal, frame.path, error)
            frame.stays = True

    def _delete(self, removal: _Removal, path: bytes, name: bytes, call: Callable[..., None]) -> bool:
        parent = removal.descent.descriptor
        if removal.act:
            try:
                call(name, dir_fd=parent)
            except FileNotFoundError:
                return True
            except OSError as error:
                _failed(removal, path, explained(error, parent, name))
                return False
        removal.objects += 1
        return True


def _spared(removal: _Removal, path: bytes, reason: str) -> _Fate:
    removal.ledger.spared(path, reason)
    return _Fate.STAYS


def _failed(removal: _Removal, path: bytes, error: OSError) -> _Fate:
    removal.ledger.failed(path, error)
    return _Fate.STAYS


def _put_back(removal: _Removal, frame: _Frame) -> None:
    if frame.mode is None:
        return
    try:
        chmod_unopened(removal.descent.descriptor, frame.name, frame.mode)
    except OSError as error:
        removal.ledger.failed(frame.path, error)
