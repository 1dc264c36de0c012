"""The Django app of repositories; its label is `repositories`."""

from django.apps import AppConfig


class RepositoriesConfig(AppConfig):
    """Repository rows, their freeze journal and the references to backups."""

    name = "repositories"
    verbose_name = "Repositories"
    default_auto_field = "django.db.models.BigAutoField"
