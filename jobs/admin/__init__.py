"""Admin pages of jobs, one group a file. No form edits a row: what a person does there, services do."""

from django.contrib import admin

from jobs.admin import (
    breaker_pages,
    job_pages,
    repository_pages,
    run_pages,
    runner_pages,
    schedule_pages,
    upkeep_pages,
)

__all__ = [
    "breaker_pages",
    "job_pages",
    "repository_pages",
    "run_pages",
    "runner_pages",
    "schedule_pages",
    "upkeep_pages",
]

admin.site.site_header = admin.site.site_title = "Syncova"
admin.site.index_title = "What needs somebody"
admin.site.index_template = "jobs/index.html"
admin.site.site_url = None
