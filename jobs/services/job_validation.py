"""All that keeps a job from being made, at once and by field; writes nothing.

Owns the gathering. Each rule is the one that making a job raises, so that what passes here is made.
"""

import datetime as dt
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from django.db import transaction

from jobs import calendar, windows
from jobs.errors import no_such_job
from jobs.models import Job, Runner
from jobs.objectives import refuse_broken_rpo
from jobs.services.job_change import PLAIN
from jobs.services.job_rows import name_taken, ready_repository, taken_by
from jobs.services.job_windows import own_rules, refuse_taken_name
from jobs.services.new_job import (
    MAX_SOURCES,
    NO_NAME,
    NO_PATH,
    NewJob,
    SourceInput,
    check_hooks,
    check_policy,
    check_rule,
    checked_name,
    checked_source,
    parsed_schedules,
    refuse_place,
)
from jobs.services.runners import group_runner
from repositories.models import Repository
from syncova_project.access.visibility import within_sight
from syncova_project.errors import SyncovaError

_NOBODY: Final = uuid.UUID(int=0)
# The objective is judged by all of these together.
_OF_OBJECTIVE: Final = frozenset({"rpo_seconds", "schedule", "schedules", "windows"})
_BLANK: Final = NewJob(name="x", repository_id=_NOBODY, sources=())


@dataclass(slots=True)
class _Found:
    """The sentences of each refused field."""

    problems: dict[str, list[str]] = field(default_factory=dict)

    def run(self, name: str, check: Callable[[], Any], renamed: tuple[str, str] = ("", ""), otherwise: str = "") -> Any:
        """Return what `check` returns; what it refuses is noted, under `otherwise` or `name` if it names no field."""
        try:
            return check()
        except SyncovaError as error:
            fields = {one: told for one, told in error.details.items() if one.split(".")[0] == name}
            for one, told in (fields or {otherwise or name: error.message}).items():
                self.problems.setdefault(one.replace(*renamed, 1), []).append(str(told))
            return None


def job_problems(fields: Mapping[str, Any], *, now: dt.datetime, unread: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the sentences of each field that is refused, {} where a job can be made of `fields`.

    `fields` are those of NewJob, and `windows`, that were given and have the right form; `unread` names those of
    which something has not, so that nothing is told of what they would mean as a whole.
    """
    found = _Found()
    with transaction.atomic():
        if "name" in fields:
            found.run("name", partial(_check_name, fields["name"]))
        for name in PLAIN:
            if name in fields:
                found.run(name, partial(check_policy, replace(_BLANK, **{name: fields[name]})))
        _each(found, "hooks", fields.get("hooks", ()), lambda one: check_hooks(replace(_BLANK, hooks=[one])))
        _each(found, "depends_on", fields.get("depends_on", ()), _check_predecessor)
        repository = None
        if "repository_id" in fields:
            repository = found.run("repository_id", partial(ready_repository, fields["repository_id"]))
        _check_sources(found, fields.get("sources", ()), repository, now)
        plans = _check_schedules(found, fields.get("schedules", ()), now)
        own = _check_windows(found, fields.get("windows", ()))
        is_whole = plans is not None and own is not None and _OF_OBJECTIVE.isdisjoint({*unread, *found.problems})
        if repository is not None and plans is not None and own is not None and is_whole:
            job = Job(id=_NOBODY, repository=repository, rpo_seconds=fields.get("rpo_seconds"))
            found.run("rpo_seconds", partial(refuse_broken_rpo, job, plans, now=now, own=own))
        # A worker group that was named for the first time is no one's yet.
        transaction.set_rollback(True)
    return found.problems


def _each(found: _Found, name: str, values: Sequence[Any], check: Callable[[Any], Any]) -> list[Any]:
    """Check each entry of a list alone, as if it were the first; return what the good ones come to."""
    results = []
    for index, one in enumerate(values):
        place = f"{name}.{index}"
        results.append(found.run(name, partial(check, one), (f"{name}.0", place), otherwise=place))
    return [one for one in results if one is not None]


def _check_name(name: str) -> None:
    kept = checked_name(name)
    known = taken_by(kept)
    if known is not None:
        raise name_taken(known, kept)


def _check_predecessor(job_id: uuid.UUID) -> None:
    kept = Job.objects.filter(id=job_id, deleted_at__isnull=True)
    if not within_sight(kept, "repository__worker_group").exists():
        raise no_such_job(job_id)


def _check_sources(
    found: _Found, sources: Sequence[SourceInput], repository: Repository | None, now: dt.datetime
) -> None:
    """Check sources against the machines of the repository, or without one against what holds everywhere."""
    runner = group_runner(repository.worker_group, now=now) if repository is not None else Runner()
    earlier: list[SourceInput] = []
    for index, source in enumerate(sources[:MAX_SOURCES]):
        place = f"sources.{index}"
        # Its rules apart: each of them is judged, whatever becomes of the path.
        judge = partial(checked_source, place, replace(source, excludes=()), runner)
        good = None if source.path == NO_PATH else found.run("sources", judge)
        for position, rule in enumerate(source.excludes):
            found.run("sources", partial(check_rule, f"{place}.exclude_patterns.{position}", rule))
        if good is not None and repository is not None:
            found.run("sources", partial(refuse_place, place, good, tuple(earlier), repository))
            earlier.append(good)


def _check_schedules(
    found: _Found, schedules: Sequence[Mapping[str, Any]], now: dt.datetime
) -> list[calendar.Plan] | None:
    """Return the plans, None where not all are good."""
    parsed = _each(found, "schedules", schedules, lambda one: parsed_schedules([one], now=now)[0])
    if len(parsed) < len(schedules):
        return None
    # Each is good alone; together they may name one twice.
    together = found.run("schedules", partial(parsed_schedules, schedules, now=now))
    return None if together is None else [one.plan for one in together]


def _check_windows(found: _Found, wanted: Sequence[Mapping[str, Any]]) -> list[windows.Rule] | None:
    """Return the rules of the job's own windows, None where not all are good."""
    own = _each(found, "windows", wanted, lambda one: own_rules([one])[0])
    named = [(position, one) for position, one in enumerate(wanted) if one["name"] != NO_NAME]
    for count, (position, _) in enumerate(named, 1):
        check = partial(refuse_taken_name, [one for _, one in named[:count]])
        found.run(f"windows.{position}.name", check)
    return own if len(own) == len(wanted) else None
