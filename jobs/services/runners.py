"""Rows that jobs share: the runner of a worker group, and sources, one row per thing backed up (C2).

Owns their making on first use; two rivals end up with the same row.
"""

import datetime as dt
import re
from collections.abc import Sequence

from jobs.models import Runner, Source
from jobs.models.runner import GROUP_NAME
from jobs.services.new_job import SourceInput
from jobs.states import RunnerKind
from repositories.engine.display import show_path
from repositories.identifiers import new_id
from syncova_project.errors import ValidationFailedError


def group_runner(group: str, *, now: dt.datetime) -> Runner:
    """Return the runner of a worker group, made when it is named first."""
    named = Runner.objects.filter(kind=RunnerKind.GROUP, name__iexact=group)
    known = named.first()
    if known is not None:
        return known
    if not re.fullmatch(GROUP_NAME, group):
        sentence = f"{group!r} is no name of a worker group: letters, digits, '.', '_' and '-', at most 100."
        raise ValidationFailedError(sentence, details={"worker_group": sentence})
    made = Runner(id=new_id(now), kind=RunnerKind.GROUP, name=group, created_at=now)
    Runner.objects.bulk_create([made], ignore_conflicts=True)
    return named.get()


def source_rows(runner: Runner, sources: Sequence[SourceInput], *, now: dt.datetime) -> list[Source]:
    """Return the rows of `sources` in their order, making those that no job has named yet."""
    Source.objects.bulk_create(
        [
            Source(
                id=new_id(now),
                runner=runner,
                type=source.type,
                normalised_id=source.path,
                shown=show_path(source.path),
                created_at=now,
            )
            for source in sources
        ],
        ignore_conflicts=True,
    )
    paths = [source.path for source in sources]
    rows = Source.objects.filter(runner=runner, normalised_id__in=paths)
    by_key = {(row.type, bytes(row.normalised_id)): row for row in rows}
    return [by_key[source.type, source.path] for source in sources]
