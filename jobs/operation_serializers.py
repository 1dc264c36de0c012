"""Bodies of the requests for runs that belong to no job: check, prune, forget, copy and restore (7.3, 7.4).

Owns names, forms and bounds. What comes out is the run's parameters: the engine's own order as JSON, so that no
further translation can say something else.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from jobs import calendar
from jobs.calendar.zones import load_zone
from repositories.engine.display import path_fields, show_path
from syncova_project.instant_field import InstantField
from syncova_project.instants import nanoseconds
from syncova_project.rest import Choice, StrictSerializer

# The engine's words; importing them from it would load all of its restoring into the web process.
OVERWRITE = ("never", "if-newer", "if-changed", "always")
MAX_NAMED = 1000
MAX_COUNT = 100_000
MAX_PATH = 4096
MAX_SECONDS = 366 * 24 * 3600
# A prune waits for what runs in the repository, on a slot that others need too.
PRUNE_SECONDS = 6 * 3600.0


class ShortText(serializers.CharField):
    """A name as the engine knows it: a backup's id or a part of one, a source, a tag."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=1000, trim_whitespace=False, **options)


class PathText(serializers.CharField):
    """A path as base64 of its exact bytes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=2 * MAX_PATH, **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the text once it is known to decode."""
        text: str = super().to_internal_value(data)
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise serializers.ValidationError("Is not base64.") from None
        return text


class CheckOrder(StrictSerializer):
    """The body of POST /repositories/{id}/check."""

    read_data = serializers.BooleanField(default=False, help_text="Reads every pack, not only what lists them.")


class PruneOrder(StrictSerializer):
    """The body of POST /repositories/{id}/prune; without `dry_run: false` it ends with the plan."""

    dry_run = serializers.BooleanField(default=True, help_text="Ends with the plan; nothing is changed.")
    max_unused_percent = serializers.FloatField(min_value=0, max_value=100, default=10.0)
    max_seconds = serializers.FloatField(
        min_value=1, max_value=MAX_SECONDS, default=PRUNE_SECONDS, help_text="For packing anew and waiting for others."
    )


class ForgetOrder(StrictSerializer):
    """The body of POST /repositories/{id}/forget; without `dry_run: false` it ends with the plan."""

    dry_run = serializers.BooleanField(default=True, help_text="Ends with the plan; nothing is deleted.")
    backups = serializers.ListField(child=ShortText(), max_length=MAX_NAMED, default=list)
    keep_last = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, default=0)
    keep_hourly = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, default=0)
    keep_daily = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, default=0)
    keep_weekly = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, default=0)
    keep_monthly = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, default=0)
    keep_yearly = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, default=0)
    keep_within_seconds = serializers.IntegerField(min_value=0, max_value=100 * MAX_SECONDS, default=0)
    keep_tags = serializers.ListField(child=ShortText(), max_length=MAX_NAMED, default=list)
    zone = serializers.CharField(max_length=100, default="UTC")
    source = ShortText(required=False, allow_null=True)  # type: ignore[assignment]
    tag = ShortText(required=False, allow_null=True)
    allow_last = serializers.BooleanField(default=False)
    reason = serializers.CharField(max_length=500, default="", allow_blank=True)

    def validate_zone(self, value: str) -> str:
        """Refuse what is no zone: whose days count must be known before anything is deleted."""
        try:
            load_zone(value)
        except calendar.ScheduleInvalidError as error:
            raise serializers.ValidationError(str(error.details.get("time_zone", error.message))) from error
        return value


class CopyOrder(StrictSerializer):
    """The body of POST /repositories/{id}/copy: into this repository, from the named one."""

    from_repository_id = serializers.UUIDField()
    backups = serializers.ListField(child=ShortText(), max_length=MAX_NAMED, default=list)
    source = ShortText(required=False, allow_null=True)  # type: ignore[assignment]
    dry_run = serializers.BooleanField(default=False)

    def validate_from_repository_id(self, value: Any) -> str:
        """Return the id as it is kept."""
        return str(value)


class RestoreOrder(StrictSerializer):
    """The body of POST /repositories/{id}/restore; `target` or `target_base64` is a directory on the group's machine.

    `backup` is an id, a part of one, or `latest`, of one `source` and not younger than `at` where these are given. With
    `in_place` the source's own place is the target. `delete` takes away what the backup does not hold: first with
    `dry_run`, then the same order again with that run's id as `plan`.
    """

    backup = ShortText()
    source = ShortText(required=False, allow_null=True)  # type: ignore[assignment]
    at = InstantField(required=False, allow_null=True)
    target = serializers.CharField(max_length=MAX_PATH, trim_whitespace=False, required=False)
    target_base64 = PathText(required=False)
    paths = serializers.ListField(
        child=serializers.CharField(max_length=MAX_PATH, trim_whitespace=False), max_length=MAX_NAMED, default=list
    )
    paths_base64 = serializers.ListField(child=PathText(), max_length=MAX_NAMED, default=list)
    overwrite = Choice(OVERWRITE, default=OVERWRITE[0], help_text="Any but never needs the right restores.in_place.")
    verify = serializers.BooleanField(default=False)
    in_place = serializers.BooleanField(default=False, help_text="Needs the right restores.in_place.")
    delete = serializers.BooleanField(default=False, help_text="Needs the right restores.in_place.")
    plan = serializers.UUIDField(required=False, help_text="The dry run that showed what is deleted.")
    dry_run = serializers.BooleanField(default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the order with its paths as exact bytes and its moment as nanoseconds."""
        _refuse_deletion(attrs)
        moment = attrs.pop("at", None)
        named = [_encoded(path.encode()) for path in attrs.pop("paths")]
        plan = attrs.pop("plan", None)
        target = _target(attrs)
        return {
            **attrs,
            **target,
            "at_ns": nanoseconds(moment) if moment is not None else None,
            "paths_base64": [*named, *attrs["paths_base64"]],
            "plan": str(plan) if plan else None,
        }


def goes_over(order: Mapping[str, Any]) -> bool:
    """Tell whether an order may change what is there already: that needs the right restores.in_place besides."""
    replaces = order.get("overwrite", OVERWRITE[0]) != OVERWRITE[0]
    return bool(order.get("in_place") or order.get("delete") or replaces)


def _refuse_deletion(attrs: Mapping[str, Any]) -> None:
    if not attrs["delete"]:
        if "plan" in attrs:
            raise serializers.ValidationError({"plan": ["Belongs to an order that deletes."]})
        return
    if attrs["overwrite"] == OVERWRITE[0]:
        raise serializers.ValidationError({"overwrite": ["With delete, say what else may be replaced: not never."]})
    if attrs["dry_run"] == ("plan" in attrs):
        raise serializers.ValidationError(
            {"plan": ["First ask with dry_run, then the same without it and with that run's id as plan."]}
        )


def _target(attrs: dict[str, Any]) -> dict[str, str]:
    """Take the target out of the order, and return it in its two forms; none for a restore in place."""
    exact, text = attrs.pop("target_base64", None), attrs.pop("target", None)
    if attrs["in_place"] and exact is None and text is None:
        return {}
    if attrs["in_place"] or (exact is None) == (text is None):
        raise serializers.ValidationError({"target": ["Give one of target, target_base64 and in_place."]})
    target = base64.b64decode(exact) if exact is not None else str(text).encode()
    return {"target": show_path(target), "target_base64": _encoded(target)}


def shown_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a run's parameters as people read them: exact bytes only where the shown path is not the name."""
    shown = dict(parameters)
    if "target_base64" in shown:
        shown |= {"target_base64": None} | {
            name.replace("path", "target"): value
            for name, value in path_fields(base64.b64decode(shown["target_base64"])).items()
        }
    return {name: value for name, value in shown.items() if value is not None}


def _encoded(path: bytes) -> str:
    return base64.b64encode(path).decode("ascii")
