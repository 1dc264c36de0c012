"""`manage unfreeze_repository`: clears every freeze of a repository, said where the database is (G1, G5).

Owns the reading of the command line and the output. Looks at no medium: `./syncova ctl repository unfreeze` does.
"""

import getpass
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from repositories.engine.display import show_text
from repositories.freezing import repository_unfreeze
from repositories.selectors import repository_get, repository_named
from syncova_project import clock
from syncova_project.errors import SyncovaError


class Command(BaseCommand):
    """Clear all freezes of a repository by name or id."""

    help = "Clear every freeze of a repository, so that what waits may start."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare which one."""
        parser.add_argument("repository", help="its name or id")
        parser.add_argument(
            "--adopt",
            action="store_true",
            help="take the medium that a worker saw within five minutes for the right one",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Clear them; repeating that is harmless."""
        try:
            row = repository_named(options["repository"])
            closed = repository_unfreeze(
                repository_id=row.id,
                actor=f"command:{getpass.getuser()}",
                now=clock.now(),
                adopt_observed_id=options["adopt"],
            )
        except SyncovaError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        name = show_text(row.name)
        self.stdout.write(f"{name}: {closed} cleared" if closed else f"{name} was not frozen")
        now = repository_get(row.id)
        if now.observed_repository_id not in {None, now.repository_id}:
            self.stderr.write(
                f"its medium was {now.observed_repository_id} when it was last opened, adopted was "
                f"{now.repository_id}: the next run freezes it again unless that is back"
            )
