"""Lookups into backups: asked by the web process, which opens no repository, and answered by a worker of the group.

Owns every write of their rows. A worker process looks for one question at a time, so that its other children stay free
for runs; it goes on with the next one itself. Rows are forgotten after minutes, answered or not.
"""

import datetime as dt
import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import zstandard
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from repositories.doorbell import ring_lookup
from repositories.errors import LookupUnknownError, TooManyLookupsError
from repositories.identifiers import new_id
from repositories.lookup_rows import LookupState, RepositoryLookup
from repositories.models import Backup
from repositories.vault import seal, unseal
from syncova_project.access.visibility import within_sight

# How long an answer can be read, by whoever asks the same; a backup never changes.
KEPT_FOR: Final = dt.timedelta(minutes=10)
# What one question may take of a worker.
SECONDS: Final = 60.0
# A worker that has not answered by then is gone.
GONE_AFTER: Final = dt.timedelta(seconds=90)
RUNG_AGAIN_AFTER: Final = dt.timedelta(seconds=5)
MOST_WAITING: Final = 64
_FORGOTTEN_AT_ONCE: Final = 500
_MOST_PLAIN: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Question:
    """What to look for in one backup: the engine's operation, and its order as JSON without the manifest's id."""

    backup: Backup
    operation: str
    order: Mapping[str, Any]

    def text(self) -> str:
        """Return the engine's whole order as JSON text, the same for the same question."""
        return json.dumps({**self.order, "manifest_id": self.backup.manifest_id}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class LookupOutcome:
    """How a lookup ended: with an answer, or with an error; with neither it was given back unanswered."""

    answer: Mapping[str, Any] | None = None
    code: str = ""
    message: str = ""
    hint: str = ""


def lookup_ask(question: Question, *, now: dt.datetime) -> RepositoryLookup:
    """Return the lookup of a question: the one that is there already, or a new one that a worker is rung for.

    Raises TooManyLookupsError.
    """
    text, backup = question.text(), question.backup
    digest = hashlib.sha256(f"{backup.repository_id}|{question.operation}|{text}".encode()).hexdigest()
    same = RepositoryLookup.objects.filter(question_digest=digest).exclude(state=LookupState.FAILED)
    with transaction.atomic():
        lookups_forget(now=now)
        found = same.first()
        if found is not None:
            return found
        group = backup.repository.worker_group
        _refuse_too_many(group)
        made = RepositoryLookup(
            id=new_id(now),
            repository_id=backup.repository_id,
            backup_id=backup.backup_id,
            worker_group=group,
            operation=question.operation,
            question=text,
            question_digest=digest,
            asked_at=now,
            rung_at=now,
            expires_at=now + KEPT_FOR,
        )
        # Somebody may ask the same in this moment: one row for both.
        RepositoryLookup.objects.bulk_create([made], ignore_conflicts=True)
        ring_lookup(lookup_id=made.id, group=group)
    return same.first() or RepositoryLookup.objects.filter(question_digest=digest).latest("id")


def lookup_get(lookup_id: uuid.UUID, *, now: dt.datetime) -> RepositoryLookup:
    """Return a lookup that is not forgotten yet, or raise LookupUnknownError; one that no worker took is rung again."""
    seen = within_sight(RepositoryLookup.objects.filter(expires_at__gt=now), "repository__worker_group")
    row = seen.filter(pk=lookup_id).first()
    if row is None:
        raise LookupUnknownError(
            f"There is no lookup {lookup_id}.", hint="Answers are kept for ten minutes: ask the same again."
        )
    silent = _open(now).filter(pk=row.pk, rung_at__lt=now - RUNG_AGAIN_AFTER)
    with transaction.atomic():
        if row.state in _OPEN_STATES and silent.update(rung_at=now):
            ring_lookup(lookup_id=row.pk, group=row.worker_group)
    return row


def lookup_answer(row: RepositoryLookup) -> dict[str, Any]:
    """Return what the worker found; raises SecretUnreadableError."""
    sealed = bytes(row.sealed_answer or b"")
    plain = zstandard.ZstdDecompressor().decompress(unseal(sealed, _context(row.pk)), max_output_size=_MOST_PLAIN)
    answer: dict[str, Any] = json.loads(plain)
    return answer


def lookup_claim(lookup_id: uuid.UUID, *, worker: str, now: dt.datetime) -> RepositoryLookup | None:
    """Take a lookup for a worker process; None: it is done, or another's, or this process has one already."""
    with transaction.atomic():
        _mine(worker).filter(started_at__lt=now - GONE_AFTER).update(state=LookupState.WAITING, worker="")
        row = _open(now).select_for_update(skip_locked=True).filter(pk=lookup_id).first()
        return None if row is None else _taken(row, worker, now)


def lookup_close(
    row: RepositoryLookup, outcome: LookupOutcome, *, worker: str, now: dt.datetime
) -> RepositoryLookup | None:
    """Write how a lookup ended and take the group's next one, in one transaction, which may be run again.

    None: nothing waits, or this one was given back, since its worker ends.
    """
    with transaction.atomic():
        _mine(worker).filter(pk=row.pk).update(**_values(row.pk, outcome))
        if not outcome.code and outcome.answer is None:
            return None
        # What this very call took when its answer was lost.
        taken = _mine(worker).first()
        if taken is not None:
            return taken
        waiting = _open(now).select_for_update(skip_locked=True).filter(worker_group=row.worker_group)
        following = waiting.order_by("id").first()
        return None if following is None else _taken(following, worker, now)


def lookups_forget(*, now: dt.datetime) -> int:
    """Delete lookups whose time is over, some hundred at once; returns how many."""
    ended = RepositoryLookup.objects.filter(expires_at__lte=now).order_by("expires_at")
    gone = list(ended.values_list("pk", flat=True)[:_FORGOTTEN_AT_ONCE])
    return RepositoryLookup.objects.filter(pk__in=gone).delete()[0] if gone else 0


_OPEN_STATES: Final = (LookupState.WAITING, LookupState.RUNNING)


def _open(now: dt.datetime) -> QuerySet[RepositoryLookup]:
    """Return what a worker may take: what waits, and what a worker that is gone had taken."""
    lost = Q(state=LookupState.RUNNING, started_at__lt=now - GONE_AFTER)
    return RepositoryLookup.objects.filter(Q(state=LookupState.WAITING) | lost, expires_at__gt=now)


def _mine(worker: str) -> QuerySet[RepositoryLookup]:
    return RepositoryLookup.objects.filter(worker=worker, state=LookupState.RUNNING)


def _taken(row: RepositoryLookup, worker: str, now: dt.datetime) -> RepositoryLookup | None:
    row.state, row.worker, row.started_at = LookupState.RUNNING, worker, now
    try:
        with transaction.atomic():
            row.save(update_fields=["state", "worker", "started_at"])
    except IntegrityError:
        # The database lets a worker process have one; whoever looks for that takes this one next.
        return None
    return row


def _values(lookup_id: uuid.UUID, outcome: LookupOutcome) -> dict[str, Any]:
    if outcome.answer is not None:
        plain = zstandard.compress(json.dumps(outcome.answer, ensure_ascii=False).encode())
        return {"state": LookupState.ANSWERED, "sealed_answer": seal(plain, _context(lookup_id))}
    if outcome.code:
        told = {"error_code": outcome.code, "error_message": outcome.message, "error_hint": outcome.hint}
        return {"state": LookupState.FAILED, **told}
    return {"state": LookupState.WAITING, "worker": "", "started_at": None}


def _context(lookup_id: uuid.UUID) -> bytes:
    return b"repositories.sealed_answer|" + lookup_id.bytes


def _refuse_too_many(group: str) -> None:
    open_now = RepositoryLookup.objects.filter(worker_group=group, state__in=_OPEN_STATES)
    if open_now.count() >= MOST_WAITING:
        raise TooManyLookupsError(
            f"{MOST_WAITING} lookups wait for the workers of group {group}.", hint="Ask again in a few seconds."
        )
