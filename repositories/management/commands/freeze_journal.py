"""`manage freeze_journal`: what froze repositories, when and why, and who cleared it (G1).

Owns the output alone.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from repositories.engine.display import show_text
from repositories.models import RepositoryFreeze
from repositories.selectors import freeze_journal, repository_named
from syncova_project.errors import SyncovaError

_FORM = "%Y-%m-%d %H:%M:%S UTC"


class Command(BaseCommand):
    """Print the journal of one repository, or of all."""

    help = "Show the freeze journal, newest first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare whose journal, and how much of it."""
        parser.add_argument("repository", nargs="?", help="its name or id; all of them when left out")
        parser.add_argument("--open", action="store_true", help="only what holds a repository now")
        parser.add_argument("--limit", type=int, default=50, metavar="N", help="at most so many")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print one line for each freeze."""
        rows = RepositoryFreeze.objects.order_by("-id")
        if options["repository"]:
            try:
                rows = freeze_journal(repository_named(options["repository"]).id)
            except SyncovaError as error:
                raise CommandError(f"{error.message} {error.hint}") from error
        if options["open"]:
            rows = rows.filter(cleared_at__isnull=True)
        for row in rows.select_related("repository")[: max(options["limit"], 0)]:
            self.stdout.write(_line(row))


def _line(row: RepositoryFreeze) -> str:
    by_run = f" (run {row.run_id})" if row.run_id else ""
    cleared = f"cleared {row.cleared_at:{_FORM}} by {show_text(row.cleared_by)}" if row.cleared_at else "open"
    began = f"{row.frozen_at:{_FORM}} {show_text(row.repository.name)} by {show_text(row.frozen_by)}{by_run}"
    return f"{began}: {show_text(row.reason)} [{cleared}]"
