"""What a freeze holds, as part of the statements that admit and start (G2; execution.md, section 2).

Owns the condition and its switch: reading "not frozen" and starting are one statement, so that an answer read earlier,
a broken one or none at all starts nothing. The journal is repositories.freezing's.
"""

import uuid
from typing import Final

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from jobs.gates import Gate, is_held_by
from jobs.models import Run
from jobs.states import RunKind, Trigger
from repositories.models import RepositoryFreeze

# Kinds that a freeze lets start all the same: they write nothing that a later clean-up could miss.
FREE_OF_FREEZE: Final = tuple(kind for kind in RunKind if not is_held_by(Gate.FREEZE, kind, Trigger.SCHEDULE))
_FROZEN: Final = Exists(RepositoryFreeze.objects.filter(repository=OuterRef("repository"), cleared_at__isnull=True))


def unless_frozen() -> Q:
    """Return the condition of every admission and every start; none while the switch of freezes is off (G4)."""
    return Q(kind__in=FREE_OF_FREEZE) | ~Q(_FROZEN) if settings.SYNCOVA_FREEZES else Q()


def held_by_freeze(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return those of `runs` that a freeze holds."""
    return runs.filter(_FROZEN).exclude(kind__in=FREE_OF_FREEZE) if settings.SYNCOVA_FREEZES else runs.none()


def frozen_repositories() -> frozenset[uuid.UUID]:
    """Return the repositories whose freezes hold runs, so that these can say so."""
    if not settings.SYNCOVA_FREEZES:
        return frozenset()
    return frozenset(RepositoryFreeze.objects.filter(cleared_at__isnull=True).values_list("repository_id", flat=True))
