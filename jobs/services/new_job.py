"""What a new job is made of, and the checks that need no other row: names, figures, paths, schedules, objective.

Owns validation whose errors name the API's fields. Constraints of the database say the same again, for everybody.
"""

import datetime as dt
import os
import re
import unicodedata
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.conf import settings

from jobs import calendar
from jobs.calendar.cron import CronPlan
from jobs.errors import SourceNotAllowedError
from jobs.models import Runner
from jobs.models.runner import GROUP_NAME
from jobs.source_paths import lies_in, normalise, refusal
from jobs.states import HookMoment, MissedPolicy, Priority, SourceType
from repositories.engine.display import show_path
from repositories.engine.source.malformed import MalformedRuleError
from repositories.engine.source.patterns import parse
from repositories.models import Repository
from syncova_project.errors import ValidationFailedError

MAX_NAME: Final = 200
MAX_SOURCES: Final = 1000
MAX_DEPENDENCIES: Final = 100
MAX_EXCLUDES: Final = 10_000
MAX_HOOKS: Final = 50
# Of a source whose path cannot be read and a window whose name cannot, in bodies that are only judged.
NO_PATH: Final = b""
NO_NAME: Final = ""
MAX_WITHIN: Final = 2**31 - 1
MAX_EXCLUDE_CHARACTERS: Final = 4096


@dataclass(frozen=True, slots=True)
class SourceInput:
    """One thing to back up; `path` is exact bytes, `excludes` are rules in the dialect of .gitignore."""

    path: bytes
    type: str = SourceType.FILESYSTEM.value
    excludes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be made; `schedules` are the API's JSON objects, none at all means by hand only."""

    name: str
    repository_id: uuid.UUID
    sources: Sequence[SourceInput]
    schedules: Sequence[Mapping[str, Any]] = ()
    priority: str = Priority.NORMAL.value
    bandwidth_limit_bps: int | None = None
    strict: bool = False
    max_attempts: int = 3
    rpo_seconds: int | None = None
    max_runtime_seconds: int | None = None
    start_deadline_seconds: int | None = None
    # Jobs that must have succeeded last before a run of this one starts (C4).
    depends_on: Sequence[uuid.UUID] = ()
    # Pairs of moment and name, in the order of their running.
    hooks: Sequence[tuple[str, str]] = ()


def checked_name(name: str) -> str:
    """Return the name as it is kept: composed and trimmed, since two names that look alike are one name."""
    kept = unicodedata.normalize("NFC", name).strip()
    if not kept or len(kept) > MAX_NAME or "\0" in kept:
        raise _invalid("name", f"must have from 1 to {MAX_NAME} characters.")
    return kept


def check_policy(job: NewJob) -> None:
    """Refuse figures and classes that no job can have."""
    if job.priority not in Priority.values:
        raise _invalid("priority", f"must be one of {', '.join(Priority.values)}.")
    if not 1 <= job.max_attempts <= 10:
        raise _invalid("max_attempts", f"must be from 1 to 10, not {job.max_attempts}.")
    for field in ("bandwidth_limit_bps", "rpo_seconds", "start_deadline_seconds", "max_runtime_seconds"):
        value = getattr(job, field)
        if value is not None and not 0 < value < 2**62:
            raise _invalid(field, f"must be greater than 0, not {value}; leave it out for none.")


def check_hooks(job: NewJob) -> None:
    """Refuse hooks that no file could name; whether the machines know them, their workers say when they run."""
    if len(job.hooks) > MAX_HOOKS:
        raise _invalid("hooks", f"must be at most {MAX_HOOKS}.")
    for index, (moment, name) in enumerate(job.hooks):
        if moment not in HookMoment.values:
            raise _invalid(f"hooks.{index}.moment", f"must be one of {', '.join(HookMoment.values)}.")
        if not re.fullmatch(GROUP_NAME, name):
            raise _invalid(f"hooks.{index}.name", "must be a name: letters, digits, '.', '_' and '-', at most 100.")


def checked_sources(sources: Sequence[SourceInput], runner: Runner, repository: Repository) -> list[SourceInput]:
    """Return the sources with normal paths; refuse what the runner may not back up, the repository, and what is twice.

    A directory above the repository is fine: the engine leaves the repository out.
    """
    if not 1 <= len(sources) <= MAX_SOURCES:
        raise _invalid("sources", f"must be from 1 to {MAX_SOURCES}.")
    checked: list[SourceInput] = []
    for index, source in enumerate(sources):
        checked.append(checked_source(f"sources.{index}", source, runner))
        refuse_place(f"sources.{index}", checked[-1], checked[:-1], repository)
    return checked


def refuse_place(field: str, source: SourceInput, earlier: Sequence[SourceInput], repository: Repository) -> None:
    """Refuse a source that is the repository, or a part of it, and one that stands among the earlier ones."""
    if lies_in(source.path, os.fsencode(repository.location)):
        message = f"{show_path(source.path)} is the repository {repository.name} itself, or a part of it."
        raise SourceNotAllowedError(message, details={f"{field}.path": message})
    if any(source.path == one.path for one in earlier):
        raise _invalid(f"{field}.path", "is named twice.")


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """A schedule to be made: its plan, and what becomes of instants that passed while nothing claimed (A13)."""

    plan: calendar.Plan
    missed: MissedPolicy
    missed_within_seconds: int | None


def parsed_schedules(schedules: Sequence[Mapping[str, Any]], *, now: dt.datetime) -> list[NewSchedule]:
    """Return a job's schedules; the error names all fields that are wrong, each with its schedule."""
    parsed, problems = list[NewSchedule](), dict[str, str]()
    for index, definition in enumerate(schedules):
        try:
            one = _parsed_schedule(definition, now)
            refuse_same(one, parsed)
            parsed.append(one)
        except calendar.ScheduleInvalidError as error:
            problems |= {f"schedules.{index}.{name}": told for name, told in error.problems.items()}
    if problems:
        raise calendar.ScheduleInvalidError.of(problems)
    return parsed


def refuse_same(schedule: NewSchedule, earlier: Sequence[NewSchedule]) -> None:
    """Refuse a schedule that stands among the earlier ones: each of its instants would be merged into theirs."""
    meaning = _meaning(schedule.plan)
    if any(_meaning(one.plan) == meaning for one in earlier):
        raise calendar.ScheduleInvalidError("type", "the job has the same schedule already: give each once.")


def _meaning(plan: calendar.Plan) -> object:
    """Return what is equal for plans with the same instants: "* * * * *" and "*/1 * * * *" are two texts of one."""
    return replace(plan, expression="") if isinstance(plan, CronPlan) else dict(plan.definition())


def _parsed_schedule(definition: Mapping[str, Any], now: dt.datetime) -> NewSchedule:
    rest = {name: value for name, value in definition.items() if name not in ("missed", "missed_within_seconds")}
    try:
        plan = calendar.parse_new(rest, now=now)
    except calendar.ScheduleInvalidError as error:
        try:
            _missed(definition)
        except calendar.ScheduleInvalidError as another:
            raise calendar.ScheduleInvalidError.of({**error.problems, **another.problems}) from error
        raise
    return NewSchedule(plan, *_missed(definition))


def _missed(definition: Mapping[str, Any]) -> tuple[MissedPolicy, int | None]:
    """Return what becomes of missed instants, and how late at most."""
    missed = definition.get("missed", MissedPolicy.ONCE.value)
    if missed not in MissedPolicy.values:
        raise calendar.ScheduleInvalidError("missed", f"must be one of {', '.join(MissedPolicy.values)}.")
    return MissedPolicy(missed), _within(missed, definition.get("missed_within_seconds"))


def _within(missed: str, within: object) -> int | None:
    """Return how late a schedule may run, None where its policy has no such limit."""
    name = "missed_within_seconds"
    if missed != MissedPolicy.ONCE_WITHIN:
        if within is None:
            return None
        raise calendar.ScheduleInvalidError(name, "belongs to once_within, and to nothing else.")
    if within is None:
        raise calendar.ScheduleInvalidError(name, "is missing: once_within needs it.")
    if isinstance(within, bool) or not isinstance(within, int) or not 0 < within <= MAX_WITHIN:
        raise calendar.ScheduleInvalidError(name, f"must be a whole number from 1 to {MAX_WITHIN}.")
    return within


def checked_source(field: str, source: SourceInput, runner: Runner) -> SourceInput:
    """Return one source with its normal path; `field` is what its errors name."""
    if source.type not in SourceType.values:
        raise _invalid(f"{field}.type", f"must be one of {', '.join(SourceType.values)}, not {source.type!r}.")
    try:
        path = normalise(source.path)
    except ValueError as error:
        raise _invalid(f"{field}.path", str(error)) from error
    roots = runner.source_roots or settings.SYNCOVA_SOURCE_ROOTS
    why = refusal(path, [os.fsencode(root) for root in roots], [os.fsencode(settings.DATA_DIR)])
    if why is not None:
        message = f"{show_path(path)} {why}"
        raise SourceNotAllowedError(message, details={f"{field}.path": message})
    if len(source.excludes) > MAX_EXCLUDES:
        raise _invalid(f"{field}.exclude_patterns", f"must be at most {MAX_EXCLUDES}.")
    for index, rule in enumerate(source.excludes):
        check_rule(f"{field}.exclude_patterns.{index}", rule)
    return SourceInput(path=path, type=source.type, excludes=source.excludes)


def check_rule(field: str, rule: str) -> None:
    """Refuse an exclude rule that can match nothing; `field` is what its error names."""
    if not _is_rule(rule):
        raise _invalid(field, f"must be a text of one line with from 1 to {MAX_EXCLUDE_CHARACTERS} characters.")
    try:
        parse(rule)
    except MalformedRuleError as error:
        raise _invalid(field, f"can match nothing: {error}.") from error


def _is_rule(rule: object) -> bool:
    return (
        isinstance(rule, str)
        and 0 < len(rule) <= MAX_EXCLUDE_CHARACTERS
        and not any(forbidden in rule for forbidden in ("\0", "\n", "\r"))
    )


def _invalid(field: str, sentence: str) -> ValidationFailedError:
    return ValidationFailedError(f"{field}: {sentence}", details={field: sentence})
