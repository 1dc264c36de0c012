"""Bodies of the API of windows: a window alone, one that is previewed, and those that come with a job.

Owns names, forms and bounds of what may be sent in; what a window means is jobs.windows'.
"""

from typing import Final

from rest_framework import serializers

from jobs.services.new_job import MAX_NAME, NO_NAME
from jobs.states import WindowKind
from jobs.windows.parsing import DAYS
from jobs.windows.parsing import KINDS as WINDOW_KINDS
from syncova_project.rest import Choice, PlainName, StrictSerializer

MAX_WINDOWS: Final = 20


class JobWindow(StrictSerializer):
    """A window in one of its two shapes: days, start and length, or two instants (docs/windows.md)."""

    stand_ins = {
        "name": NO_NAME,
        "type": WindowKind.BLACKOUT.value,
        "kinds": None,
        "days": None,
        "start": "00:00",
        "length_seconds": 1,
        "time_zone": "UTC",
        "starts_at": "1000-01-01T00:00:00+00:00",
        "ends_at": "9000-01-01T00:00:00+00:00",
    }

    name = PlainName(max_length=MAX_NAME)
    type = Choice(WindowKind.choices)
    kinds = serializers.ListField(child=Choice([kind.value for kind in WINDOW_KINDS]), max_length=10, required=False)
    days = serializers.ListField(child=Choice(DAYS), max_length=7, required=False)
    start = serializers.CharField(max_length=10, required=False)
    length_seconds = serializers.IntegerField(
        min_value=1,
        max_value=7 * 24 * 3600,
        required=False,
        error_messages={
            "max_value": (
                "Must be at most {max_value}: what is open for longer has starts_at and ends_at, and opens once."
            ),
        },
    )
    time_zone = serializers.CharField(max_length=100, required=False)
    starts_at = serializers.CharField(max_length=50, required=False)
    ends_at = serializers.CharField(max_length=50, required=False)


class JobWindowChange(JobWindow):
    """A window that a job is to have; `id` says which of its windows that is, without it the name does."""

    id = serializers.UUIDField(required=False)


class WindowBody(JobWindow):
    """The body of POST and PUT: a window, and at most one of both ids; without one it holds for the installation."""

    repository_id = serializers.UUIDField(required=False, allow_null=True)
    job_id = serializers.UUIDField(required=False, allow_null=True)


class WindowPreviewBody(WindowBody):
    """The body of POST /windows/preview: a window, saved or not; `replaces` is the id of the one that it changes."""

    name = PlainName(max_length=MAX_NAME, default="preview")
    replaces = serializers.UUIDField(required=False, allow_null=True)
    count = serializers.IntegerField(min_value=1, max_value=100, default=5)
