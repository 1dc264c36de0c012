"""Whether what a source holds now may pass for it, beside its last backup: mounted, and not suddenly empty (2.6).

Owns these refusals, the same for a backup and for a dry run of one, and that an accepted new root lifts them. Compared
is with the newest backup of the source, never with a checkpoint. The rules (docs/sources.md) are such that ordinary
changes never meet them: as long as the file system is the same, only what is *wholly* gone is refused.
"""

import contextlib
import os

from repositories.engine.backup.options import Hooks
from repositories.engine.backup.parent import Lineage
from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.backup.standing import Held, Order
from repositories.engine.display import show_bytes, show_count, show_path
from repositories.engine.errors import SourceEmptyError, SourceError, SourceMissingError, SourceUnmountedError
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.order import is_within
from repositories.engine.manifest.problems import Severity
from repositories.engine.manifest.root import SourceRecord
from repositories.engine.source.mounts import mount_of
from repositories.engine.source.root import SourceRoot, open_root

_CONFIRM = "if it is meant to be like this now, confirm it once with --accept-new-root"


class RootGuard:
    """Compares an opened root with the last backup of its source; `mount` is the file system that it lies on."""

    def __init__(self, order: Order, lineage: Lineage, root: SourceRoot, hooks: Hooks) -> None:
        self._source, options = order
        self._accepted = options.accept_new_root
        self._log = hooks.log
        self._root = root
        self._last = lineage.previous
        self.mount = mount_of(root.descriptor)
        self._place = show_path(self._source.path)

    def look_before(self) -> None:
        """Refuse a source whose file system is not mounted, before anything of what lies there instead is read.

        Raises SourceUnmountedError.
        """
        last = self._last
        if last is not None and self._is_unmounted(last.root.source) and not self._is_same_directory(last):
            self._refuse(self._unmounted(last, f"{show_count(len(self._names()), 'name')} in it"))

    def look_after(self, held: Held, problems: ProblemLog) -> None:
        """Refuse what was found. Raises SourceEmptyError, SourceUnmountedError."""
        last = self._last
        if last is None:
            return
        unread = _unread(problems)
        now = self._emptied(held, last, unread)
        if now is not None:
            self._refuse(
                SourceEmptyError(
                    f"source {self._place} {now}, but held {_held(last)} in backup {last.short_id}",
                    hint=f"is its file system mounted, is it all there? then run it again; {_CONFIRM}",
                )
            )
        elif self._lies_elsewhere(last.root.source):
            self._judge_new_place(held, last)

    def _judge_new_place(self, held: Held, last: Backup) -> None:
        then = last.root.statistics
        shrank = held.entries * 2 < then.entries or held.logical_bytes * 2 < then.logical_bytes
        if not shrank:
            self._log("info", f"source {self._place} lies on {self._here()}; in backup {last.short_id}: {_there(last)}")
            return
        count = f"{show_count(held.entries, 'entry')}, {show_bytes(held.logical_bytes)}"
        if self._is_unmounted(last.root.source):
            self._refuse(self._unmounted(last, count))
            return
        self._refuse(
            SourceUnmountedError(
                f"source {self._place} lies on another file system than in backup {last.short_id}, and most of what it"
                f" held is missing: then {_there(last)} with {_held(last)}, now {self._here()} with {count}",
                hint=f"is the right file system mounted? then run it again; {_CONFIRM}",
            )
        )

    def _emptied(self, held: Held, last: Backup, unread: str) -> str | None:
        """Return in what way nothing is left of what the last backup held, None if something is."""
        then = last.root.statistics
        if not held.entries:
            return (f"holds nothing that could be read{unread}" if unread else "is empty") if then.entries else None
        lost_files = then.files and not held.files
        if lost_files or (held.directories == held.entries and then.directories < then.entries):
            rest = show_count(held.directories, "directory")
            which = f"that could be read{unread}" if unread else "any more"
            return f"holds no file {which}, only {rest}" + (" and links or the like" if held.others else "")
        # One file may be emptied by whoever fills it; all of several at once are not.
        if held.files > 1 and not held.logical_bytes and then.logical_bytes:
            return f"holds {show_count(held.files, 'file')}, of which not one has a single byte"
        return None

    def _is_unmounted(self, then: SourceRecord) -> bool:
        """The root lay on a mount point at or above it, which is none now: what is seen is what lies below."""
        now, point = self.mount, then.mount_point
        if now is None or point is None or not self._lies_elsewhere(then):
            return False
        return _is_at(os.path.realpath(self._source.path), point) and not _is_at(now.point, point)

    def _lies_elsewhere(self, then: SourceRecord) -> bool:
        now = self.mount
        if now is None or then.mount_point is None or then.id != self._source.path:
            return False
        return (now.point, now.type) != (then.mount_point, then.file_system)

    def _is_same_directory(self, last: Backup) -> bool:
        """A directory that was bound onto itself is the same without that; numbers of inodes tell within a type."""
        top, now = last.root.top_entry, self.mount
        if top is None or now is None or self._source.ignore_inode or now.type != last.root.source.file_system:
            return False
        return top.inode == self._root.status.st_ino

    def _unmounted(self, last: Backup, now: str) -> SourceUnmountedError:
        point = show_path(last.root.source.mount_point or b"")
        return SourceUnmountedError(
            f"the file system of source {self._place} is not mounted: in backup {last.short_id} it was {_there(last)}"
            f" and the source held {_held(last)}; now it lies on {self._here()}, with {now}",
            hint=f"mount {point} and run it again; {_CONFIRM}",
        )

    def _refuse(self, error: SourceError) -> None:
        if not self._accepted:
            raise error
        self._log("warning", f"accepted as the new state: {error.message}")

    def _names(self) -> list[str]:
        with contextlib.suppress(OSError):
            return os.listdir(self._root.descriptor)
        return []

    def _here(self) -> str:
        return "an unknown file system" if self.mount is None else _file_system(self.mount.type, self.mount.point)


def open_guarded(order: Order, lineage: Lineage, own: frozenset[tuple[int, int]]) -> SourceRoot:
    """Open the root of a source; raises what `open_root` raises, naming the file system that a missing one lay on."""
    source = order[0]
    try:
        return open_root(source.path, own)
    except SourceMissingError as error:
        last = lineage.previous
        if last is None or last.root.source.id != source.path or last.root.source.mount_point in (None, b"/"):
            raise
        hint = f"in backup {last.short_id} it held {_held(last)}, on {_there(last)}: mount that and run it again"
        raise SourceMissingError(error.message, hint=hint) from error


def _is_at(path: bytes, ancestor: bytes) -> bool:
    return is_within(path.strip(b"/"), ancestor.strip(b"/"))


def _held(last: Backup) -> str:
    statistics = last.root.statistics
    return f"{show_count(statistics.entries, 'entry')} ({show_bytes(statistics.logical_bytes)})"


def _there(last: Backup) -> str:
    source = last.root.source
    return _file_system(source.file_system or "", source.mount_point or b"")


def _file_system(kind: str, point: bytes) -> str:
    return f"{kind} mounted at {show_path(point)}"


def _unread(problems: ProblemLog) -> str:
    skipped = problems.total(Severity.SKIPPED)
    if not skipped:
        return ""
    first = problems.first()[0]
    return f" ({skipped} skipped, the first: {show_path(first.path)}: {first.detail or first.kind})"
