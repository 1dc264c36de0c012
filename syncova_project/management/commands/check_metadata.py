"""`manage check_metadata`: whether the database holds all that keeps its rows true (H9). Changes nothing.

Owns the output and the exit code alone.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from syncova_project.named_locks import holders
from syncova_project.schema.health import problems


class Command(BaseCommand):
    """Print what is wrong, and who holds which named lock."""

    help = (
        "Check the schema's version, triggers, constraints, indexes and sequences, and show who holds named locks. "
        "Exit code 1 when anything is wrong."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for each finding."""
        for holder in holders(connection):
            since = f" since {holder.since:%Y-%m-%d %H:%M:%S} UTC" if holder.since else ""
            self.stdout.write(f"lock {holder.lock.name.lower()}: server process {holder.process_id}{since}")
        found = list(problems(connection))
        for problem in found:
            self.stdout.write(problem)
        if found:
            raise CommandError("the metadata is not whole; see docs/database.md", returncode=1)
        self.stdout.write("the metadata is whole")
