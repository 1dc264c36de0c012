"""The Django app of jobs; its label is `jobs`. Each migration ends with a look for the indexes of searches."""

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate


class JobsConfig(AppConfig):
    """Jobs, sources, schedules, runs and the queue."""

    name = "jobs"
    verbose_name = "Jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say how what an address names is looked up, once there are models, and have indexes of searches made."""
        from jobs import sight  # noqa: F401 - the models are not there before

        post_migrate.connect(_look_for_search_indexes, sender=self)


def _look_for_search_indexes(*, using: str, verbosity: int, **told: Any) -> None:
    from jobs.search_indexes import make_search_indexes

    refusal = make_search_indexes(connections[using])
    if refusal and verbosity and told.get("stdout") is not None:
        told["stdout"].write(
            f"Searches in lists of jobs and runs have no index: {refusal}. Let a superuser run "
            "CREATE EXTENSION pg_trgm in this database, then: ./syncova manage migrate"
        )
