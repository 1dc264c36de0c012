"""The Django app of jobs; its label is `jobs`."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Jobs, sources, schedules, runs and the queue."""

    name = "jobs"
    verbose_name = "Jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say how what an address names is looked up, once there are models."""
        from jobs import sight  # noqa: F401 - the models are not there before
