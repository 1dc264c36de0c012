"""The Django app of access control; its label is `access`."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    """Tokens, audit and idempotency keys: a leaf, so it imports no other app."""

    name = "syncova_project.access"
    label = "access"
    verbose_name = "Access"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to logins once there are models."""
        from syncova_project.access import logins  # noqa: F401 - the models are not there before
