"""The Django app of jobs; its label is `jobs`."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Jobs, sources, schedules, runs and the queue."""

    name = "jobs"
    verbose_name = "Jobs"
    default_auto_field = "django.db.models.BigAutoField"
