"""What previews of schedules are asked with: from when on, how many instants, and for a body the schedules.

Owns these two forms.
"""

import datetime as dt
from typing import Any

from rest_framework import serializers

from jobs import calendar
from jobs.window_serializers import MAX_WINDOWS, JobWindowChange
from syncova_project.rest import StrictSerializer


class CountFilter(StrictSerializer):
    """The query parameters of GET /jobs/{id}/preview: how many instants, and those after which one (without: now)."""

    count = serializers.IntegerField(min_value=1, max_value=1000, default=10)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields with `from`, which Python cannot name."""
        start = serializers.CharField(max_length=50, required=False, help_text="An instant with its offset; else now.")
        return {**super().get_fields(), "from": start}

    def validate_from(self, value: str) -> dt.datetime:
        """Return the instant; refuse those that the calendar does not reach."""
        try:
            return calendar.read_view_start(value)
        except calendar.ScheduleInvalidError as error:
            raise serializers.ValidationError(str(error.details["from"])) from error


class JobPreviewBody(CountFilter):
    """The body of POST /jobs/preview: schedules (none: by hand), and what says which windows hold: a job, or a
    repository, and `windows` in place of the job's own.
    """

    schedule = serializers.DictField(required=False)
    schedules = serializers.ListField(child=serializers.DictField(), max_length=20, required=False)
    repository_id = serializers.UUIDField(required=False, allow_null=True)
    job_id = serializers.UUIDField(required=False, allow_null=True)
    windows = serializers.ListField(child=JobWindowChange(), max_length=MAX_WINDOWS, required=False)
