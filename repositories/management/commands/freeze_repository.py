"""`manage freeze_repository`: nothing starts on a repository any more, said where the database is (G1).

Owns the reading of the command line and the output. What runs goes on.
"""

import getpass
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from repositories.engine.display import show_text
from repositories.freezing import repository_freeze
from repositories.selectors import repository_named
from syncova_project import clock
from syncova_project.errors import SyncovaError


class Command(BaseCommand):
    """Freeze a repository by name or id."""

    help = "Freeze a repository: backups, prunes, deletions and copies wait. Restores and checks go on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare which one, and why."""
        parser.add_argument("repository", help="its name or id")
        parser.add_argument("--reason", required=True, help="why: everybody who waits will read it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Freeze it; the same reason twice is one freeze."""
        reason = str(options["reason"]).strip()
        if not reason:
            raise CommandError("--reason is empty: everybody who waits will read it", returncode=2)
        try:
            row = repository_named(options["repository"])
            is_new = repository_freeze(
                repository_id=row.id, reason=reason, actor=f"command:{getpass.getuser()}", now=clock.now()
            )
        except SyncovaError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        self.stdout.write(f"{show_text(row.name)} {'is frozen' if is_new else 'was frozen for that already'}")
