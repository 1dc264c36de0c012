"""`manage token_list`: which API tokens there are. Shows public prefixes only."""

from typing import Any

from django.core.management.base import BaseCommand

from syncova_project import clock
from syncova_project.access.models import ApiToken
from syncova_project.access.selectors import is_live


class Command(BaseCommand):
    """Prints one line per token, newest first."""

    help = "List the API tokens: prefix, name, rights, and whether each still works."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the list."""
        now = clock.now()
        for token in ApiToken.objects.order_by("-id"):
            state = "live" if is_live(token, now) else "dead"
            self.stdout.write(f"{token.prefix}  {state}  {token.name!a}  {','.join(token.scopes)}")
