"""The Django app of the project itself: its commands and system checks; it has no models."""

from django.apps import AppConfig


class SyncovaProjectConfig(AppConfig):
    """Registers the system checks."""

    name = "syncova_project"

    def ready(self) -> None:
        """Import the checks once the settings can be read."""
        from syncova_project import checks  # noqa: F401 - Django asks for it here: the settings are not ready before
