"""Seals over the audit trail: each holds the digest of one entry and the hash of the seal before it.

Owns the chain's form and its growth. Entries are written unchained, in the transaction that acts, and are sealed once
they have committed, so that no two acting transactions ever wait for each other; one sealer at a time, so that the
chain has no fork. What the chain proves is verifying's.
"""

import datetime as dt
import hashlib
import json
import logging
from typing import Final

from django.db import connection, transaction

from syncova_project.access.models import AuditEntry, AuditSeal, AuditSealMark, UnsealedEntry
from syncova_project.named_locks import NamedLock

log = logging.getLogger(__name__)
MOST_AT_ONCE: Final = 2000
TOLD_EVERY: Final = dt.timedelta(days=1)
FIRST_PREVIOUS: Final = bytes(32)


def seal_entries(*, now: dt.datetime) -> int:
    """Seal entries that have committed, up to 2,000, and tell the log the newest seal once a day; return how many.

    Safe beside others that do the same: who does not get the lock leaves the work to the one who has it.
    """
    sealed = 0
    if UnsealedEntry.objects.exists():
        with transaction.atomic():
            if _alone():
                sealed = _append(now)
    if not AuditSealMark.objects.filter(told_at__gt=now - TOLD_EVERY).exists():
        _tell(now)
    return sealed


def entry_digest(entry: AuditEntry) -> bytes:
    """Return 32 bytes over all that an entry says, as the database holds it."""
    said = [
        entry.pk,
        entry.at.astimezone(dt.UTC).isoformat(),
        entry.actor,
        entry.action,
        entry.subject_type,
        entry.subject_id,
        entry.details,
        entry.request_id,
        entry.address,
    ]
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(b"syncova/audit-entry/1\0" + text.encode("ascii")).digest()


def seal_hash(seal: AuditSeal) -> bytes:
    """Return 32 bytes over a seal, and by it over all seals before."""
    numbers = seal.position.to_bytes(8, "big") + seal.entry_id.to_bytes(8, "big")
    parts = numbers + bytes(seal.digest) + bytes(seal.previous)
    return hashlib.sha256(b"syncova/audit-seal/1\0" + parts).digest()


def newest_seal() -> AuditSeal | None:
    """Return the end of the chain."""
    return AuditSeal.objects.order_by("-position").first()


def _alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [int(NamedLock.AUDIT_SEALS)])
        return bool(cursor.fetchone()[0])


def _append(now: dt.datetime) -> int:
    # Read under the lock: what the last sealer wrote has committed before its lock was free.
    newest = newest_seal()
    position, previous = (newest.position, seal_hash(newest)) if newest else (0, FIRST_PREVIOUS)
    waiting = list(UnsealedEntry.objects.order_by("entry_id").values_list("entry_id", flat=True)[:MOST_AT_ONCE])
    entries = AuditEntry.objects.in_bulk(waiting)
    seals = []
    for entry_id in waiting:
        # One that is gone was removed past the triggers: it stays in the queue, where verify_audit finds it.
        if (entry := entries.get(entry_id)) is None:
            continue
        position += 1
        seal = AuditSeal(
            position=position, entry_id=entry_id, digest=entry_digest(entry), previous=previous, sealed_at=now
        )
        previous = seal_hash(seal)
        seals.append(seal)
    AuditSeal.objects.bulk_create(seals)
    UnsealedEntry.objects.filter(entry_id__in=list(entries)).delete()
    return len(seals)


def _tell(now: dt.datetime) -> None:
    newest = newest_seal()
    if newest is None:
        return
    seal = seal_hash(newest)
    AuditSealMark.objects.create(position=newest.position, seal=seal, told_at=now)
    log.info("The audit trail is sealed up to %s; verify_audit --seal proves it later.", seal_text(newest))


def seal_text(seal: AuditSeal) -> str:
    """Return a seal as the log tells it and verify_audit reads it: position and hash."""
    return f"{seal.position}:{seal_hash(seal).hex()}"
