"""Whether the audit trail is what was sealed: every entry, in one chain, up to the seals that the log was told.

Owns the verdict. Reads only, in pieces, so that a trail of any length fits. A chain alone cannot show that its end was
cut off: the seals that were told elsewhere can.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from django.db import connection

from syncova_project.access.models import AuditEntry, AuditSeal, AuditSealMark, UnsealedEntry
from syncova_project.access.sealing import FIRST_PREVIOUS, entry_digest, seal_hash, seal_text

_PIECE: Final = 2000
_SHOWN: Final = 100
_NEVER_SEALED: Final = """
SELECT id FROM audit_entries AS entry
WHERE NOT EXISTS (SELECT FROM audit_seals WHERE entry_id = entry.id)
  AND NOT EXISTS (SELECT FROM audit_unsealed_entries WHERE entry_id = entry.id)
ORDER BY id LIMIT %s
"""
_GONE_UNSEALED: Final = """
SELECT entry_id FROM audit_unsealed_entries AS waiting
WHERE NOT EXISTS (SELECT FROM audit_entries WHERE id = waiting.entry_id) ORDER BY entry_id LIMIT %s
"""


@dataclass(slots=True)
class Verdict:
    """What was found: how many seals there are, the end of the chain, what waits, and what is wrong where."""

    seals: int = 0
    newest: str = ""
    waiting: int = 0
    problems: list[str] = field(default_factory=list)
    more_problems: int = 0

    def blame(self, sentence: str) -> None:
        """Add a finding; of very many, the first hundred are kept and the rest is counted."""
        if len(self.problems) < _SHOWN:
            self.problems.append(sentence)
        else:
            self.more_problems += 1


def verify_trail(told: Mapping[int, bytes]) -> Verdict:
    """Return what is wrong with the audit trail; `told` are hashes of seals by position, as the log was told them."""
    verdict = Verdict()
    wanted = {mark.position: (bytes(mark.seal), mark.told_at) for mark in AuditSealMark.objects.order_by("-id")}
    last: AuditSeal | None = None
    for piece in _pieces():
        entries = AuditEntry.objects.in_bulk([seal.entry_id for seal in piece])
        for seal in piece:
            _judge_link(verdict, last, seal)
            _judge_entry(verdict, seal, entries.get(seal.entry_id))
            _judge_told(verdict, seal, told, wanted)
            last = seal
            verdict.seals += 1
    verdict.newest = seal_text(last) if last else ""
    end = last.position if last else 0
    for position in sorted({*told, *wanted}):
        if position > end:
            verdict.blame(f"seal {position} was told and is not there: the trail ends with seal {end}")
    _judge_unsealed(verdict)
    return verdict


def _pieces() -> Iterator[list[AuditSeal]]:
    after = 0
    while piece := list(AuditSeal.objects.filter(position__gt=after).order_by("position")[:_PIECE]):
        yield piece
        after = piece[-1].position


def _judge_link(verdict: Verdict, last: AuditSeal | None, seal: AuditSeal) -> None:
    before = last.position if last else 0
    if seal.position != before + 1:
        missing = f"{before + 1}" if seal.position == before + 2 else f"{before + 1} to {seal.position - 1}"
        verdict.blame(f"seal {missing} is missing")
    elif bytes(seal.previous) != (seal_hash(last) if last else FIRST_PREVIOUS):
        verdict.blame(f"seal {seal.position} does not follow from seal {before}: one of the two was changed")


def _judge_entry(verdict: Verdict, seal: AuditSeal, entry: AuditEntry | None) -> None:
    if entry is None:
        verdict.blame(f"audit entry {seal.entry_id} (seal {seal.position}) is gone")
    elif entry_digest(entry) != bytes(seal.digest):
        verdict.blame(f"audit entry {seal.entry_id} (seal {seal.position}) is not what was sealed: it was changed")


def _judge_told(
    verdict: Verdict,
    seal: AuditSeal,
    told: Mapping[int, bytes],
    wanted: Mapping[int, tuple[bytes, dt.datetime]],
) -> None:
    if seal.position not in told and seal.position not in wanted:
        return
    own = seal_hash(seal)
    if told.get(seal.position, own) != own:
        verdict.blame(f"seal {seal.position} is not the one that was told: the trail up to there was written anew")
    marked, at = wanted.get(seal.position, (own, None))
    if marked != own:
        verdict.blame(f"seal {seal.position} is not the one that the log was told at {at}")


def _judge_unsealed(verdict: Verdict) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_NEVER_SEALED, [_SHOWN])
        for (entry_id,) in cursor.fetchall():
            verdict.blame(f"audit entry {entry_id} has no seal and does not wait for one")
        cursor.execute(_GONE_UNSEALED, [_SHOWN])
        for (entry_id,) in cursor.fetchall():
            verdict.blame(f"audit entry {entry_id} is gone: it was removed before it was sealed")
    verdict.waiting = UnsealedEntry.objects.count()
