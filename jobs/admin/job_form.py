"""The form that changes a job: what PATCH takes, in fields. Owns the translation to that body, and no rule.

What nobody touched is not sent: exact paths and rules stay, also where only an escaped form of them can be shown.
"""

import base64
import re
from collections.abc import Iterator
from typing import Any, Final

from django import forms
from django.http import QueryDict

from jobs.admin.when import HELP, KEPT, KINDS, When, definition_of, when_of
from jobs.listing import job_listed
from jobs.services.new_job import MAX_NAME
from jobs.states import Priority
from repositories.console.failures import CommandError
from repositories.engine.display import show_path
from syncova_project.admin_pages.actions import ActionForm
from syncova_project.log import single_line

PLAIN: Final = (
    "name",
    "priority",
    "max_attempts",
    "strict",
    "bandwidth_limit_bps",
    "rpo_seconds",
    "start_deadline_seconds",
    "max_runtime_seconds",
)
# More fields than a browser may send; such jobs are changed over the API.
MOST_SOURCES: Final = 200
_OF_ROW: Final = re.compile(r"(path|rules|kind|value|zone)_[0-9]+")


def _limit(label: str) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=1, help_text="Empty for none.")


class JobForm(ActionForm):
    """A job's fields; `revision` is the state that the person saw."""

    revision = forms.IntegerField(widget=forms.HiddenInput)
    name = forms.CharField(max_length=4 * MAX_NAME)
    priority = forms.ChoiceField(choices=Priority.choices)
    max_attempts = forms.IntegerField(label="Tries of a run", min_value=1, max_value=10)
    strict = forms.BooleanField(label="Strict: warnings count as skipped objects", required=False)
    bandwidth_limit_bps = _limit("Reading at most, bytes per second")
    rpo_seconds = _limit("Longest time between two planned starts, seconds")
    start_deadline_seconds = _limit("End a run that cannot start for so long, seconds")
    max_runtime_seconds = _limit("End a run that takes longer, seconds")

    def __init__(self, of: Any, data: QueryDict | None = None) -> None:
        super().__init__(of, data)
        job: Any = job_listed(of.pk)
        self.job, self.sent_sources, self.sent_schedules = job, list[int](), list[int]()
        self.initial = {name: getattr(job, name) for name in PLAIN}
        self.initial |= {"name": single_line(job.name), "revision": job.revision_number}
        self._sources = job.listed_sources if len(job.listed_sources) <= MOST_SOURCES else []
        if self._sources:
            for number in range(len(self._sources) + 2):
                self._add_source(number)
        for number in range(len(job.listed_schedules) + 1):
            self._add_schedule(number)

    @property
    def groups(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the fields in groups; those of rows apart from the job's own."""
        yield "Job", [self[name] for name in ("name", "priority")]
        many = len(self.job.listed_sources) > MOST_SOURCES
        title = "Sources: more than fit a form, change them with ./syncova ctl job edit" if many else "Sources"
        yield title, [self[name] for name in self.fields if name.startswith(("path_", "rules_"))]
        yield "When it runs", [self[name] for name in self.fields if name.startswith(("kind_", "value_", "zone_"))]
        yield "Policy and limits", [self[name] for name in PLAIN[2:]]

    def field_of(self, name: str) -> str | None:
        """Return the row's field for `sources.0.path` and `schedules.0.time`."""
        head, _, rest = name.partition(".")
        place, _, what = rest.partition(".")
        sent = {"sources": self.sent_sources, "schedules": self.sent_schedules}.get(head)
        if sent is None or not place.isdecimal() or int(place) >= len(sent):
            return super().field_of(name)
        if head == "sources":
            return f"{'rules' if what.startswith('exclude') else 'path'}_{sent[int(place)]}"
        return f"{'zone' if what == 'time_zone' else 'value'}_{sent[int(place)]}"

    def clean(self) -> dict[str, Any]:
        """Return the values with the `body` of the change."""
        values = super().clean() or self.cleaned_data
        changed = set(self.changed_data)
        body: dict[str, Any] = {name: values[name] for name in PLAIN if name in changed and name in values}
        touched = {match[1] for name in changed if (match := _OF_ROW.fullmatch(name))}
        if touched & {"path", "rules"}:
            body["sources"] = self._sent_sources(values)
        if touched & {"kind", "value", "zone"}:
            body["schedules"] = self._sent_schedules(values)
        return values | {"body": body}

    def _add_source(self, number: int) -> None:
        place = self._sources[number] if number < len(self._sources) else None
        label = f"Source {number + 1}" if place else "Further source"
        self.fields[f"path_{number}"] = forms.CharField(
            label=label, required=False, strip=False, help_text="An absolute path; empty to take it out."
        )
        self.fields[f"rules_{number}"] = Rules(
            label=f"{label}: excludes", required=False, strip=False, help_text="One rule a line, as in .gitignore."
        )
        if place is not None:
            self.initial[f"path_{number}"] = show_path(bytes(place.source.normalised_id))
            self.initial[f"rules_{number}"] = "\n".join(single_line(rule) for rule in place.excludes)

    def _add_schedule(self, number: int) -> None:
        schedules = self.job.listed_schedules
        when = when_of(schedules[number].definition) if number < len(schedules) else When()
        label = f"Schedule {number + 1}" if number < len(schedules) else "Further schedule"
        kinds = [*KINDS, (KEPT, "as it is")] if when.kind == KEPT else KINDS
        self.fields[f"kind_{number}"] = forms.ChoiceField(label=label, choices=kinds, required=False)
        self.fields[f"value_{number}"] = forms.CharField(label=f"{label}: value", required=False, help_text=HELP)
        self.fields[f"zone_{number}"] = forms.CharField(
            label=f"{label}: time zone", required=False, help_text="Such as Europe/Berlin; empty for UTC."
        )
        for name in ("kind", "value", "zone"):
            self.initial[f"{name}_{number}"] = single_line(getattr(when, name))

    def _sent_sources(self, values: dict[str, Any]) -> list[dict[str, Any]]:
        sent = []
        for number in range(len(self._sources) + 2):
            path = values.get(f"path_{number}", "")
            if not path:
                continue
            place = self._sources[number] if number < len(self._sources) else None
            one = {"type": place.source.type if place else "filesystem", "path": path}
            if place is not None and f"path_{number}" not in self.changed_data:
                one["path_base64"] = base64.b64encode(bytes(place.source.normalised_id)).decode("ascii")
            rules = [rule for rule in values.get(f"rules_{number}", "").split("\n") if rule]
            if place is not None and f"rules_{number}" not in self.changed_data:
                rules = place.excludes
            sent.append(one | {"exclude_patterns": rules})
            self.sent_sources.append(number)
        return sent

    def _sent_schedules(self, values: dict[str, Any]) -> list[dict[str, Any]]:
        sent = []
        for number in range(len(self.job.listed_schedules) + 1):
            when = When(*(values.get(f"{name}_{number}", "") for name in ("kind", "value", "zone")))
            if not when.kind:
                if when.value:
                    self.add_error(f"kind_{number}", "Say what kind of schedule this is.")
                continue
            try:
                sent.append(self._definition(number, when))
                self.sent_schedules.append(number)
            except CommandError as error:
                told = f"{error.message}: {error.hint}" if error.hint else error.message
                self.add_error(f"value_{number}", single_line(told.replace("--", "")))
        return sent

    def _definition(self, number: int, when: When) -> dict[str, Any]:
        """Return a schedule's JSON; one that was there keeps its history, its policy and where its grid begins."""
        rows = self.job.listed_schedules
        if number >= len(rows):
            return definition_of(when)
        present = rows[number]
        unchanged = not {f"{name}_{number}" for name in ("kind", "value", "zone")} & set(self.changed_data)
        kept = {"id": str(present.id), "missed": present.missed}
        if present.missed_within_seconds is not None:
            kept["missed_within_seconds"] = present.missed_within_seconds
        if unchanged or when.kind == KEPT:
            return {**present.definition, **kept}
        wanted = definition_of(when)
        if wanted["type"] == "interval" and present.definition.get("anchor"):
            wanted["anchor"] = present.definition["anchor"]
        return {**wanted, **kept}


class Rules(forms.CharField):
    """Lines of text; browsers end them in their own way."""

    widget = forms.Textarea(attrs={"rows": 3})

    def to_python(self, value: Any) -> str:
        """Return the text with plain line ends."""
        return str(super().to_python(value)).replace("\r\n", "\n").rstrip("\n")

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare what the lines say."""
        return self.to_python(initial or "") != self.to_python(data or "")
