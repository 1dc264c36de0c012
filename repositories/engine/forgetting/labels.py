"""Tags, notes and holds upon backups.

Owns what must be put for a change. Each change reads again after writing: the caller tells what holds then.
"""

from dataclasses import dataclass
from typing import Final

from repositories.engine.errors import BackupNotFoundError, ConfigurationError
from repositories.engine.forgetting.returning import take_back
from repositories.engine.forgetting.room import keeping
from repositories.engine.forgetting.wording import require_tag, require_text
from repositories.engine.format.notes import AnnotationKind
from repositories.engine.manifest.backups import Backup
from repositories.engine.repository import Repository
from repositories.engine.retention.standing import Annotation
from repositories.engine.retention.writing import NotesWriter

# What a record's integers hold: the year 2554.
LATEST_NS: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class LabelChange:
    """Tags to give and to take away, and the note to leave instead of earlier ones (None: leave them, "": none)."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    note: str | None = None


def require_sensible(change: LabelChange) -> None:
    """Raise ConfigurationError for words that cannot be kept, and for a tag that is to be given and taken away."""
    for tag in (*change.add, *change.remove):
        require_tag(tag)
    require_text(change.note or "", "the note")
    if both := set(change.add) & set(change.remove):
        raise ConfigurationError(f"tag {min(both)} is to be given and taken away", hint="give one of both")


@keeping()
def change_labels(repository: Repository, backup: Backup, change: LabelChange) -> None:
    """Give and take away tags, leave a note. What is so already puts nothing. Raises ConfigurationError."""
    require_sensible(change)
    repository.require_writable()
    labels = _Labels(repository, backup)
    for tag in dict.fromkeys(change.add):
        labels.give(tag)
    for tag in dict.fromkeys(change.remove):
        labels.take(tag)
    if change.note is not None:
        labels.note(change.note)


class _Labels:
    def __init__(self, repository: Repository, backup: Backup) -> None:
        self._id = bytes.fromhex(backup.manifest_id)
        self._own = frozenset(backup.root.origin.tags)
        self._said = repository.notes().of(self._id)
        self._writer = NotesWriter(repository.store, repository.clock)

    def give(self, tag: str) -> None:
        self._withdraw(AnnotationKind.TAG_TAKEN, tag)
        if tag not in self._own and not self._of(AnnotationKind.TAG, tag):
            self._writer.annotate(AnnotationKind.TAG, self._id, tag)

    def take(self, tag: str) -> None:
        self._withdraw(AnnotationKind.TAG, tag)
        if tag in self._own and not self._of(AnnotationKind.TAG_TAKEN, tag):
            self._writer.annotate(AnnotationKind.TAG_TAKEN, self._id, tag)

    def note(self, text: str) -> None:
        earlier = [each for each in self._said if each.kind == AnnotationKind.NOTE]
        if text:
            self._writer.annotate(AnnotationKind.NOTE, self._id, text)
        for each in earlier:
            self._writer.withdraw(each)

    def _of(self, kind: AnnotationKind, tag: str) -> list[Annotation]:
        return [each for each in self._said if each.kind == kind and each.text == tag]

    def _withdraw(self, kind: AnnotationKind, tag: str) -> None:
        for each in self._of(kind, tag):
            self._writer.withdraw(each)


@dataclass(frozen=True, slots=True)
class Held:
    """A hold that was placed.

    `certain` is False when it may have come too late: a prune is under way that may have decided before, or the writer
    of the backup has not ended, and may take it back to commit it again.
    `brought_back`: the backup had just been deleted, and the hold has undone that.
    """

    certain: bool
    brought_back: bool


@keeping()
def place_hold(repository: Repository, backup: Backup, reason: str, until_ns: int | None = None) -> Held:
    """Hold a backup: no deletion takes it until `until_ns`, or ever.

    It wins over a deletion at the same time, which is undone for this backup. Raises BackupNotFoundError when a prune
    has taken the backup or its writer has taken it back, ConfigurationError for an empty reason or a time that is past.
    """
    require_text(reason, "the reason")
    if not reason:
        raise ConfigurationError("a hold needs a reason", hint="say with --reason why the backup must stay")
    now_ns = repository.clock.now_ns()
    if until_ns is not None and until_ns <= now_ns:
        raise ConfigurationError("the hold would end before it begins", hint="give a later time with --until")
    if until_ns is not None and until_ns > LATEST_NS:
        raise ConfigurationError("the hold would end too late to be recorded", hint="without --until it never ends")
    repository.require_writable()
    writer = NotesWriter(repository.store, repository.clock)
    writer.annotate(AnnotationKind.HOLD, bytes.fromhex(backup.manifest_id), reason, until_ns)
    return _make_sure(repository, backup)


@keeping()
def release_holds(repository: Repository, backup: Backup) -> int:
    """End all holds of a backup, also those that have run out; return how many there were.

    A deletion that a hold has outlived (its writer died before it could undo it) is undone first: releasing a hold
    deletes nothing.
    """
    manifest_id = bytes.fromhex(backup.manifest_id)
    held = [each for each in repository.notes().of(manifest_id) if each.kind == AnnotationKind.HOLD]
    if not held:
        return 0
    _make_sure(repository, backup)
    writer = NotesWriter(repository.store, repository.clock)
    for each in held:
        writer.withdraw(each)
    return len(held)


def _make_sure(repository: Repository, backup: Backup) -> Held:
    returned = take_back(repository, [backup.manifest_id], "a hold came upon it")
    if backup.manifest_id in returned.gone:
        raise BackupNotFoundError(
            f"backup {backup.short_id} is gone: it was deleted and a prune has taken it, or its writer took it back",
            hint="list shows the backups that are left",
        )
    return Held(not returned.uncertain, returned.undone)
