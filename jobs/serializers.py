"""Bodies and query parameters of the jobs and runs API: names, forms and bounds.

Owns what may be sent in. Rules over several rows, and of what schedules mean, live in services and jobs.calendar.
"""

import base64
from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers

from jobs.services.new_job import (
    MAX_DEPENDENCIES,
    MAX_EXCLUDE_CHARACTERS,
    MAX_EXCLUDES,
    MAX_HOOKS,
    MAX_NAME,
    MAX_SOURCES,
    NO_PATH,
)
from jobs.states import (
    FINISHED_STATES,
    HeldCode,
    HookMoment,
    Priority,
    RunKind,
    RunState,
    ScheduleKind,
    ScheduleState,
    SourceType,
)
from jobs.window_serializers import MAX_WINDOWS, JobWindow, JobWindowChange
from repositories.engine.display import show_path
from syncova_project.errors import ValidationFailedError
from syncova_project.paging import DEFAULT_LIMIT, MAX_LIMIT
from syncova_project.rest import Choice, PlainName, StrictSerializer

MAX_PATH = 4096
MAX_BANDWIDTH = 2**53 - 1
MAX_SECONDS = 10 * 366 * 24 * 3600
NEVER_ENDED = "none"
ONE_OF_BOTH = "Give schedule or schedules, not both."


class SourceTypeNotAvailableError(ValidationFailedError):
    """The type exists elsewhere or later, not in this version: it is refused, never skipped."""

    code: ClassVar[str] = "SOURCE_TYPE_NOT_AVAILABLE"


def not_available(kind: str, field: str) -> SourceTypeNotAvailableError:
    """Return the error that says which types there are."""
    return SourceTypeNotAvailableError(
        f"Sources of type {kind!r} cannot be backed up by this version.",
        hint=f"Available: {', '.join(SourceType.values)}.",
        details={field: [f"{kind!r} is not available."]},
    )


class SourceInput(StrictSerializer):
    """One source: its type, its path as `id`, `path` or `path_base64`, and exclude rules in gitignore's dialect.

    `path_base64` holds the exact bytes and wins; a `path` beside it must be their shown form, as answers have it.
    """

    stand_ins = {"type": SourceType.FILESYSTEM.value, "exclude_patterns": ()}

    type = serializers.CharField(max_length=50)
    id = serializers.CharField(max_length=MAX_PATH, trim_whitespace=False, required=False)
    path = serializers.CharField(max_length=4 * MAX_PATH, trim_whitespace=False, required=False)
    path_base64 = serializers.CharField(max_length=2 * MAX_PATH, required=False)
    exclude_patterns = serializers.ListField(
        child=serializers.CharField(max_length=MAX_EXCLUDE_CHARACTERS, trim_whitespace=False),
        max_length=MAX_EXCLUDES,
        default=list,
    )

    def validate_type(self, value: str) -> str:
        """Refuse types that nothing executes."""
        if value in SourceType.values:
            return value
        raise not_available(value, "type")

    def judged_in_part(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a source without a path, whose rules are judged all the same."""
        kept = {name: values.get(name, stand_in) for name, stand_in in self.stand_ins.items()}
        return {**kept, "path": NO_PATH}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the source with its path as exact bytes."""
        exact = attrs.pop("path_base64", None)
        texts = {name: attrs.pop(name) for name in ("id", "path") if name in attrs}
        if exact is not None:
            attrs["path"] = self._decoded(exact)
            if any(text != show_path(attrs["path"]) for text in texts.values()):
                raise serializers.ValidationError({"path": ["Is not the name that path_base64 holds."]})
        elif len(texts) == 1:
            attrs["path"] = next(iter(texts.values())).encode()
        else:
            raise serializers.ValidationError({"path": ["Give one of id, path and path_base64."]})
        return attrs

    def _decoded(self, text: str) -> bytes:
        try:
            return base64.b64decode(text, validate=True)
        # What is not ASCII is a plain ValueError, everything else a subclass of it.
        except ValueError:
            raise serializers.ValidationError({"path_base64": ["Is not base64."]}) from None


class SourceList(serializers.ListField):
    """Sources of a job; one of a type that does not exist is named by its place."""

    def run_child_validation(self, data: Any) -> Any:
        """Return the sources, or raise what is wrong with them."""
        for position, one in enumerate(data):
            kind = one.get("type") if isinstance(one, dict) else None
            if isinstance(kind, str) and kind not in SourceType.values:
                raise not_available(kind, f"{self.field_name}.{position}.type")
        return super().run_child_validation(data)


class HookInput(StrictSerializer):
    """When a hook runs, and its name in the file of the machines that run it; a command is nothing that can be sent."""

    stand_ins = {"moment": HookMoment.BEFORE_JOB.value}

    moment = Choice(HookMoment.choices)
    name = serializers.CharField(max_length=100)


class JobBody(StrictSerializer):
    """What a job is; `schedule` is the only schedule, `schedules` are several."""

    name: serializers.CharField = PlainName(max_length=MAX_NAME)
    repository_id = serializers.UUIDField()
    sources = SourceList(child=SourceInput(), max_length=MAX_SOURCES, allow_empty=False)
    schedule = serializers.DictField(required=False)
    schedules = serializers.ListField(child=serializers.DictField(), max_length=20, required=False)
    priority = Choice(Priority.choices, default=Priority.NORMAL.value)
    bandwidth_limit_bps = serializers.IntegerField(
        min_value=1, max_value=MAX_BANDWIDTH, required=False, allow_null=True, help_text="Bytes per second."
    )
    strict = serializers.BooleanField(default=False)
    max_attempts = serializers.IntegerField(min_value=1, max_value=10, default=3)
    rpo_seconds = serializers.IntegerField(
        min_value=1,
        max_value=MAX_SECONDS,
        required=False,
        allow_null=True,
        help_text="The longest time that may lie between two planned starts.",
    )
    start_deadline_seconds = serializers.IntegerField(
        min_value=1,
        max_value=MAX_SECONDS,
        required=False,
        allow_null=True,
        help_text="How long a run may wait for its start; after that it ends as failed.",
    )
    max_runtime_seconds = serializers.IntegerField(min_value=1, max_value=MAX_SECONDS, required=False, allow_null=True)
    depends_on = serializers.ListField(
        child=serializers.UUIDField(),
        max_length=MAX_DEPENDENCIES,
        default=list,
        help_text="Jobs whose last run must have succeeded before this one's may start.",
    )
    hooks = serializers.ListField(child=HookInput(), max_length=MAX_HOOKS, default=list)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the job with `schedules` alone; without either it runs by hand."""
        single = attrs.pop("schedule", None)
        if single is not None and "schedules" in attrs:
            raise serializers.ValidationError({"schedule": [ONE_OF_BOTH]})
        attrs["schedules"] = [single] if single is not None else attrs.get("schedules", [])
        return attrs


class JobInput(JobBody):
    """The body of POST /jobs: a job, and windows of its own that are made with it."""

    windows = serializers.ListField(child=JobWindow(), max_length=MAX_WINDOWS, default=list)


class JobChange(JobBody):
    """The body of PATCH /jobs/{id}: what is to change, null for no limit; lists replace what was there.

    `schedule` is the only schedule; an `id` within `schedules` says which one changes and keeps its history, and within
    `windows`, which are those of the job's own, which one is meant.
    """

    # Judged where it differs from the one that the job has.
    name = serializers.CharField(max_length=MAX_NAME)
    windows = serializers.ListField(child=JobWindowChange(), max_length=MAX_WINDOWS)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields of a new job, of which none is needed and none has a default."""
        fields = super().get_fields()
        for field in fields.values():
            field.required, field.default = False, serializers.empty
        return fields

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return what was given; `schedule` stays apart, since a job may have several."""
        if "schedule" in attrs and "schedules" in attrs:
            raise serializers.ValidationError({"schedule": [ONE_OF_BOTH]})
        return attrs


class DependenciesBody(StrictSerializer):
    """The body of PUT /jobs/{id}/dependencies: all jobs that this one waits for; an empty list is none."""

    depends_on = serializers.ListField(child=serializers.UUIDField(), max_length=MAX_DEPENDENCIES)


class RunOrder(StrictSerializer):
    """The body of POST /jobs/{id}/run; none is an ordinary run."""

    accept_new_root = serializers.BooleanField(
        default=False, help_text="Confirms what the sources hold now, where the last run refused it."
    )

    ignore_windows = serializers.BooleanField(
        default=False, help_text="Starts it whatever windows say; needs the right runs.ignore_windows, and is audited."
    )
    ignore_dependencies = serializers.BooleanField(
        default=False,
        help_text="Starts it whatever the jobs that it waits for did; needs the right jobs.write, and is audited.",
    )


class PageFilter(StrictSerializer):
    """What every list takes."""

    cursor = serializers.CharField(max_length=2000, default="")
    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)


class JobFilter(PageFilter):
    """The query parameters of GET /jobs; `last_state` is how the last run ended, `none`: no run has ended yet."""

    status = Choice(("active", "paused"), required=False)
    repository = serializers.UUIDField(required=False)
    priority = Choice(Priority.choices, required=False)
    last_state = Choice((*map(str, FINISHED_STATES), NEVER_ENDED), required=False)
    search = serializers.CharField(max_length=200, required=False)
    ordering = Choice(("name", "-name", "created_at", "-created_at"), default="name")


class JobRunFilter(PageFilter):
    """The query parameters of GET /jobs/{id}/runs: the address names the job."""

    status = Choice(RunState.choices, required=False)
    repository = serializers.UUIDField(required=False)
    kind = Choice(RunKind.choices, required=False)
    search = serializers.CharField(max_length=200, required=False)
    ordering = Choice(("created_at", "-created_at"), default="-created_at")


class RunFilter(JobRunFilter):
    """The query parameters of GET /runs."""

    job = serializers.UUIDField(required=False)


class ScheduleFilter(PageFilter):
    """The query parameters of GET /schedules; a flagged one plans nothing."""

    job = serializers.UUIDField(required=False)
    repository = serializers.UUIDField(required=False)
    state = Choice(ScheduleState.choices, required=False)
    type = Choice(ScheduleKind.choices, required=False)


class QueueFilter(PageFilter):
    """The query parameters of GET /queue; `held` is the code of what a run waits for."""

    repository = serializers.UUIDField(required=False)
    job = serializers.UUIDField(required=False)
    kind = Choice(RunKind.choices, required=False)
    priority = Choice(Priority.choices, required=False)
    held = Choice(HeldCode.choices, required=False)


class PositionFilter(StrictSerializer):
    """The query parameters of a run's log and events: `after` is the number that the last answer ended with."""

    after = serializers.IntegerField(min_value=0, max_value=2**62, default=0)
    limit = serializers.IntegerField(min_value=1, max_value=1000, default=200)


class LogFilter(PositionFilter):
    """The query parameters of a run's log; with `follow` the answer is a stream, and `limit` counts for nothing."""

    follow = serializers.BooleanField(default=False)
