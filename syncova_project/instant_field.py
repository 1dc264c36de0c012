"""The field of bodies and query parameters that takes an instant: with its time and its offset, or not at all.

A day alone, or a time of an unknown place, would be guessed; the guess would be told nowhere.
"""

import datetime as dt
from typing import Any, ClassVar, Final

from django.utils.dateparse import parse_datetime
from rest_framework import serializers

_FORM: Final = (
    "Must be an instant with its offset: YYYY-MM-DDThh:mm, seconds if wanted, then Z or +hh:mm (%2B in a query)."
)


class InstantField(serializers.DateTimeField):
    """A point in time, as text whose form has an offset."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": _FORM}

    def to_internal_value(self, value: Any) -> dt.datetime:
        """Return the aware moment; a text without an offset is refused."""
        try:
            told = parse_datetime(str(value))
        except ValueError:
            told = None
        if told is None or told.tzinfo is None:
            self.fail("invalid")
        return super().to_internal_value(value)
