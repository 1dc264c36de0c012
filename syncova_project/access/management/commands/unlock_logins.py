"""`manage unlock_logins`: forget the failed logins, so that nobody has to wait any more."""

from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from syncova_project import clock
from syncova_project.access.models import LoginAttempt
from syncova_project.access.services import audit_record


class Command(BaseCommand):
    """Empties the counts and says how many there were."""

    help = "End every lock-out that failed logins have caused."

    def handle(self, *args: Any, **options: Any) -> None:
        """Forget the counts; repeating it changes nothing."""
        with transaction.atomic():
            count, _ = LoginAttempt.objects.all().delete()
            audit_record(
                actor="system", action="session.unlock", subject_type="user", subject_id="all", now=clock.now()
            )
        self.stdout.write(f"{count} counts of failed logins are forgotten.")
