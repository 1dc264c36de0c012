"""How much of a repository checks have proven, now and day by day: what ended checks told, and nothing reckoned (7.3).

Owns reading the proof in a check's result. A day without a check that told one has none: nobody looked.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import OuterRef, QuerySet

from jobs.models import Run
from jobs.states import FINISHED_STATES, RunKind

# A check ends within this time of being asked for; lists of runs have their index by when they were asked for.
_LONGEST_CHECK: Final = dt.timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Proof:
    """What a check told: of `bytes` in packs, `verified_bytes` were read whole and found good, by it or before."""

    bytes: int
    verified_bytes: int
    oldest_verified_at: str | None

    @property
    def percent(self) -> int | None:
        """Return the whole per cent that are proven, 100 only for all; None where there is nothing to prove."""
        return 100 * self.verified_bytes // self.bytes if self.bytes else None


def proof_told(result: object) -> Proof | None:
    """Return the proof within a check's result, None where it told none: it was cut off, or is from before proofs."""
    told = result.get("proof") if isinstance(result, Mapping) else None
    if not isinstance(told, Mapping) or not {"bytes", "verified_bytes"} <= set(told):
        return None
    oldest = told.get("oldest_verified_at")
    return Proof(int(told["bytes"]), int(told["verified_bytes"]), str(oldest) if oldest else None)


def newest_check(repository: uuid.UUID | OuterRef) -> "QuerySet[Run, Any]":
    """Return the result of the repository's newest check that has ended, as a query of one row at most."""
    ended = Run.objects.filter(repository=repository, kind=RunKind.CHECK, state__in=FINISHED_STATES)
    return ended.order_by("-created_at", "-id").values("reason_parameters")[:1]


def proof_now(repository_id: uuid.UUID) -> dict[str, Any] | None:
    """Return what the newest ended check told, None where none told a proof."""
    result = newest_check(repository_id).first()
    return _proof_json(proof_told(result["reason_parameters"]) if result else None)


def proofs_by_day(repository_id: uuid.UUID, *, since: dt.datetime) -> dict[dt.date, dict[str, Any]]:
    """Return by the day (UTC) of a check's end what the last check of that day told."""
    ended = Run.objects.filter(
        repository_id=repository_id,
        kind=RunKind.CHECK,
        state__in=FINISHED_STATES,
        created_at__gte=since - _LONGEST_CHECK,
        finished_at__gte=since,
    )
    found: dict[dt.date, dict[str, Any]] = {}
    for finished_at, result in ended.order_by("finished_at", "id").values_list("finished_at", "reason_parameters"):
        told = _proof_json(proof_told(result))
        if told is not None and finished_at is not None:
            found[finished_at.astimezone(dt.UTC).date()] = told
    return found


def _proof_json(proof: Proof | None) -> dict[str, Any] | None:
    if proof is None:
        return None
    return {
        "bytes": proof.bytes,
        "verified_bytes": proof.verified_bytes,
        "percent": proof.percent,
        "oldest_verified_at": proof.oldest_verified_at,
    }
