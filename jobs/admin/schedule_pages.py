"""Admin pages of schedules, of what became of their instants, and of windows."""

from django.contrib import admin

from jobs.models import Schedule, ScheduleDecision, ScheduleEvent, Window
from jobs.sentences import decision_sentence
from syncova_project.log import single_line
from syncova_project.read_only_admin import ReadOnlyAdmin, shown


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin):
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
class ScheduleDecisionAdmin(ReadOnlyAdmin):
    """Why instants did not become runs of their own, newest first."""

    ordering = ("-id",)
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
    search_fields = ("schedule__job__name", "reason_code")
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
class ScheduleEventAdmin(ReadOnlyAdmin):
    """What happened to schedules, newest first."""

    ordering = ("-id",)
    list_display = ("at", shown("schedule__job__name", "job"), "code", shown("actor"))
    list_select_related = ("schedule__job",)
    search_fields = ("schedule__job__name", "code", "actor")
    fields = readonly_fields = (
        "at",
        shown("schedule__job__name", "job"),
        "code",
        shown("parameters"),
        shown("actor"),
    )


@admin.register(Window)
class WindowAdmin(ReadOnlyAdmin):
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
