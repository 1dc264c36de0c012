"""The Django app of repositories; its label is `repositories`."""

from django.apps import AppConfig


class RepositoriesConfig(AppConfig):
    """Repository rows, their freeze journal and the references to backups."""

    name = "repositories"
    verbose_name = "Repositories"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say how the repository of an address and of an audit entry is looked up, once there are models."""
        from repositories import sight  # noqa: F401 - the models are not there before
