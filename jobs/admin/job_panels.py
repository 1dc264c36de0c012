"""What the page of a job shows beside its fields: schedules, sources, latest runs, what did not run. Reads alone."""

from typing import Any, Final

from jobs.admin.marks import marked
from jobs.database_time import database_now
from jobs.job_preview import job_preview
from jobs.models import Job, JobSource, Run, Schedule, ScheduleDecision
from jobs.next_starts import NextStarts
from jobs.selectors import phase, schedule_sentence
from jobs.sentences import decision_sentence, flag_sentence, reason_sentence
from jobs.states import ScheduleState
from repositories.engine.display import show_count
from syncova_project.admin_pages.pages import address_of, list_address
from syncova_project.admin_pages.panels import Cell, Panel, link, row

SHOWN: Final = 10
_MOST_SOURCES: Final = 1000
_MOST_RULES: Final = 20


def job_headline(job: Any) -> list[str]:
    """Return standing, last result and next start; `job` has `due_at`."""
    lines = [standing(job)]
    if job.last_run_id is not None:
        lines.append(f"Last result: {marked(job.last_state)}")
    job.next_run_at = None if job.deleted_at or job.paused_at else job.due_at
    told = NextStarts().of(job)
    if told["next_start_window"] is not None:
        lines.append(
            f"Next start: {told['next_start_at'] or 'none within 31 days'}, by the window "
            f"{told['next_start_window']['name']}"
        )
    elif told["next_start_at"]:
        lines.append(f"Next start: {told['next_start_at']}")
    return lines


def standing(job: Job) -> str:
    """Say whether the job is active, paused or deleted."""
    if job.deleted_at is not None:
        return "■ deleted"
    return "❚❚ paused" if job.paused_at is not None else "▶ active"


def job_panels(job: Job) -> list[Panel]:
    """Return the panels of a job's page: a fixed number of queries."""
    changes = changes_panel("job", job.pk)
    return [_runs(job), _schedules(job), _ahead(job), _sources(job), _decisions(job), changes]


def runs_panel(runs: Any, more: Cell | None = None) -> Panel:
    """Return the newest of some runs, each with how it stands and why."""
    found = runs.select_related("job").order_by("-created_at", "-id")[:SHOWN]
    shown = [
        row(
            link(run.created_at, address_of("jobs.run", run.pk)),
            run.kind,
            marked(phase(run)),
            reason_sentence(run),
            run.finished_at,
        )
        for run in found
    ]
    headings = ("queued", "kind", "state", "why", "ended")
    return Panel("runs", "Latest runs", headings, shown, "" if shown else "There is none yet.", more if shown else None)


def changes_panel(subject_type: str, key: object) -> Panel:
    """Return where the audit trail of a thing is read."""
    address = list_address("access.auditentry", subject_type=subject_type, subject_id=key)
    return Panel("changes", "Who changed what", more=Cell("Audit trail", address))


def _runs(job: Job) -> Panel:
    every = Cell("All runs of this job", list_address("jobs.run", job__id__exact=job.pk))
    return runs_panel(Run.objects.filter(job=job), every)


def _schedules(job: Job) -> Panel:
    kept = Schedule.objects.filter(job=job, deleted_at__isnull=True).order_by("id")
    shown = [
        row(
            schedule_sentence(one),
            one.next_at if one.state == ScheduleState.ACTIVE else None,
            marked(one.state),
            flag_sentence(one),
        )
        for one in kept
    ]
    return Panel("schedules", "When it runs", ("when", "due", "state", "why"), shown, "" if shown else "Only by hand.")


def _ahead(job: Job) -> Panel:
    now = database_now()
    found = [] if job.deleted_at else job_preview(job, start=now, count=SHOWN, now=now)
    shown = [
        row(
            one["utc"],
            one["local"],
            ", ".join(one["notes"]).replace("_", " "),
            one.get("starts_at", one["utc"]) or "none within 31 days",
            one["window"]["name"] if "window" in one else "",
            one.get("merges_into"),
        )
        for one in found
    ]
    note = "" if shown else "Nothing is planned."
    if shown and job.paused_at is not None:
        note = "Paused: until the job is resumed none of these runs."
    return Panel("ahead", "Due next", ("planned", "local", "notes", "starts", "window", "merges into"), shown, note)


def _sources(job: Job) -> Panel:
    places = JobSource.objects.filter(job=job).select_related("source").order_by("position")[:_MOST_SOURCES]
    shown = [row(one.source.type, one.source.shown, _rules(one.excludes)) for one in places]
    return Panel("sources", "Sources", ("type", "source", "excludes"), shown)


def _rules(excludes: list[str]) -> str:
    told = ", ".join(excludes[:_MOST_RULES])
    left = len(excludes) - _MOST_RULES
    return f"{told} and {show_count(left, 'further rule')}" if left > 0 else told


def _decisions(job: Job) -> Panel:
    found = ScheduleDecision.objects.filter(schedule__job=job).order_by("-id")[:SHOWN]
    shown = [row(one.first_at, one.last_at, one.outcome.replace("_", " "), decision_sentence(one)) for one in found]
    more = Cell("All decisions of this job", list_address("jobs.scheduledecision", schedule__job__id__exact=job.pk))
    note = "" if shown else "Every planned instant became a run of its own."
    headings = ("from", "to", "outcome", "in words")
    return Panel("decisions", "What did not run", headings, shown, note, more if shown else None)
