"""The kind `manual`: never due by itself."""

import datetime as dt
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.translation import gettext

from jobs.calendar.fields import Fields
from jobs.calendar.plans import Occurrence, Start


@dataclass(frozen=True, slots=True)
class ManualPlan:
    """Runs only when somebody asks."""

    kind: ClassVar[str] = "manual"
    zone_name: str = "UTC"

    def starts(self, after: dt.datetime) -> Iterator[Start]:
        """None."""
        return iter(())

    def occurrence(self, start: Start) -> Occurrence:
        """It has none to show."""
        return Occurrence(start[0], start[0])

    def next_after(self, instant: dt.datetime) -> Occurrence | None:
        """Never."""
        return None

    def latest_until(self, instant: dt.datetime) -> Occurrence | None:
        """Never."""
        return None

    def pattern(self, midnight: dt.datetime) -> Hashable | None:
        """Always the same: nothing."""
        return ""

    def count(self, first: dt.datetime, last: dt.datetime, limit: int) -> tuple[int, bool]:
        """None at all."""
        return 0, True

    def definition(self) -> Mapping[str, Any]:
        """`{"type": "manual"}`."""
        return {"type": self.kind}

    def describe(self) -> str:
        """Say so."""
        return gettext("only by hand")


def parse_manual(fields: Fields, anchor: dt.datetime) -> ManualPlan:
    """`{"type": "manual"}`."""
    return ManualPlan()
