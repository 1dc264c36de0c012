"""Sentences about runs that wait for another job (C4). Owns the words; what is not seen has no name in them (7.8)."""

from collections.abc import Callable, Mapping
from typing import Final

from django.utils.translation import gettext as _

from jobs.job_names import another_job, waited_for
from jobs.models import Job, Run
from jobs.states import HeldCode, RunState


def _failed(run: Run) -> str:
    told, name = _told(run), waited_for(run)
    last = Job.objects.filter(name=name, deleted_at__isnull=True).values_list("last_state", flat=True)
    # How a job ended that is not seen, is not told either.
    state = last.first() if name else None
    if not state or state == RunState.SUCCEEDED:
        return _("Waits for %(job)s, whose last run did not succeed.") % told
    return _("Waits for %(job)s, whose last run ended as %(state)s.") % (
        told | {"state": RunState(state).label.lower()}
    )


def _told(run: Run) -> dict[str, str]:
    name = waited_for(run)
    return {"job": _("the job %(name)s") % {"name": name} if name else another_job()}


HELD_BY_JOBS: Final[Mapping[HeldCode, Callable[[Run], str]]] = {
    HeldCode.DEPENDENCY: lambda run: _("Waits for %(job)s: its run has not ended.") % _told(run),
    HeldCode.DEPENDENCY_PAUSED: lambda run: _("Waits for %(job)s, which is paused.") % _told(run),
    HeldCode.DEPENDENCY_NEVER_RAN: lambda run: _("Waits for %(job)s, which has never run.") % _told(run),
    HeldCode.DEPENDENCY_FAILED: _failed,
}
