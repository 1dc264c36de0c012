"""Admin pages of schedules, of what became of their instants, and of windows."""

from collections.abc import Sequence
from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.admin.window_panels import window_panels
from jobs.models import Schedule, ScheduleDecision, ScheduleEvent, Window
from jobs.sentences import decision_sentence
from syncova_project.admin_pages.lists import HistoryList
from syncova_project.admin_pages.pages import PageAdmin
from syncova_project.admin_pages.panels import Panel
from syncova_project.log import single_line
from syncova_project.read_only_admin import shown

_MOST_FOUND: Final = 1000


class OfSchedule(HistoryList):
    """Rows beneath schedules, newest first; searched by the names of jobs, whose schedules are few."""

    lookups = ("schedule__job__id__exact", "outcome__exact")
    search_fields: Any = ("schedule__job__name",)
    search_help_text: Any = "A part of a job's name."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows of the schedules of jobs with the text in their names."""
        if not search_term:
            return queryset, False
        found = Schedule.objects.filter(job__name__icontains=search_term).values_list("id", flat=True)[:_MOST_FOUND]
        return queryset.filter(schedule_id__in=list(found)), False


@admin.register(Schedule)
class ScheduleAdmin(PageAdmin):
    """Schedules by what is due next."""

    list_display = (shown("job__name", "job"), "kind", shown("definition"), "next_at", "state", "deleted_at")
    list_filter = ("kind", "state")
    list_select_related = ("job",)
    search_fields = ("job__name",)
    fields = readonly_fields = (
        "id",
        shown("job__name", "job"),
        "kind",
        shown("definition"),
        "anchor",
        "next_at",
        "next_wall",
        "last_planned_at",
        "missed",
        "missed_within_seconds",
        "state",
        shown("state_code"),
        shown("state_parameters"),
        "created_at",
        "deleted_at",
    )


@admin.register(ScheduleDecision)
class ScheduleDecisionAdmin(OfSchedule, PageAdmin):
    """Why instants did not become runs of their own, newest first."""

    list_display = (
        shown("schedule__job__name", "job"),
        "first_at",
        "last_at",
        "count",
        "count_is_minimum",
        "outcome",
        "sentence",
    )
    list_filter = ("outcome",)
    list_select_related = ("schedule__job",)
    fields = readonly_fields = (
        shown("schedule__job__name", "job"),
        "first_at",
        "last_at",
        "count",
        "count_is_minimum",
        "outcome",
        "sentence",
        shown("reason_code"),
        shown("parameters"),
        "run_id",
        "created_at",
    )

    @admin.display(description="in words")
    def sentence(self, decision: ScheduleDecision) -> str:
        """Say what became of the instants."""
        return single_line(decision_sentence(decision))


@admin.register(ScheduleEvent)
class ScheduleEventAdmin(OfSchedule, PageAdmin):
    """What happened to schedules, newest first."""

    list_display = ("at", shown("schedule__job__name", "job"), "code", shown("actor"))
    list_select_related = ("schedule__job",)
    fields = readonly_fields = (
        "at",
        shown("schedule__job__name", "job"),
        "code",
        shown("parameters"),
        shown("actor"),
    )


@admin.register(Window)
class WindowAdmin(PageAdmin):
    """Maintenance windows."""

    list_display = (
        shown("name", order="name"),
        "kind",
        shown("kinds", "applies to"),
        "starts_at",
        "ends_at",
        "time_zone",
    )
    list_filter = ("kind",)
    search_fields = ("name",)
    fields = readonly_fields = (
        "id",
        shown("name"),
        "kind",
        "repository",
        "job",
        shown("kinds", "applies to"),
        "starts_at",
        "ends_at",
        shown("days"),
        "start_time",
        "length_seconds",
        "time_zone",
        "created_at",
    )

    def panels(self, request: HttpRequest, obj: Any) -> Sequence[Panel]:
        """Show what the window does."""
        return window_panels(obj)
