"""What the first page of the admin says before all else: what needs somebody. Reads alone, a few rows of each kind."""

from typing import Any, Final

from django import template
from django.db.models import Q
from django.urls import reverse

from jobs.admin.marks import marked
from jobs.models import Job
from jobs.states import RunState
from repositories.selectors import accepts_backups, repositories_visible
from syncova_project.access.people import may
from syncova_project.access.scopes import Scope
from syncova_project.access.visibility import rows_seen
from syncova_project.admin_pages.pages import address_of, list_address, page_address
from syncova_project.admin_pages.panels import Cell, Panel, link, row

register = template.Library()
MOST: Final = 20


@register.inclusion_tag("jobs/attention.html")
def attention(user: Any) -> dict[str, Any]:
    """Show what the person may see of it."""
    panels = [_jobs()] if may(user, Scope.JOBS_READ) else []
    panels += [_repositories()] if may(user, Scope.REPOSITORIES_READ) else []
    return {"panels": panels}


def _jobs() -> Panel:
    bad = Job.objects.filter(~Q(last_state__in=("", RunState.SUCCEEDED)), deleted_at__isnull=True)
    found = list(rows_seen(bad).order_by("-last_finished_at", "id")[: MOST + 1])
    shown = [
        row(
            link(one.name, page_address(one)),
            link(marked(one.last_state), address_of("jobs.run", one.last_run_id)),
            one.last_finished_at,
            one.last_succeeded_at,
        )
        for one in found[:MOST]
    ]
    note = "" if shown else "✓ none: the last run of each job succeeded, or is still to come."
    more = Cell("What waits", reverse("admin:jobs_run_queue"))
    if len(found) > MOST:
        note, more = "There are more.", Cell("All failed runs", list_address("jobs.run", state__exact="failed"))
    headings = ("job", "last result", "ended", "last success")
    return Panel("jobs", "Jobs whose last run did not succeed", headings, shown, note, more)


def _repositories() -> Panel:
    judged = [(one, *accepts_backups(one)) for one in repositories_visible()]
    shown = [row(link(one.name, page_address(one)), f"✗ {why}") for one, accepted, why in judged if not accepted]
    note = "" if shown else "✓ none."
    return Panel("repositories", "Repositories that take no backups", ("repository", "because"), shown, note)
