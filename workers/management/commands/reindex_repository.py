"""`manage reindex_repository`: the database learns from a repository what lies there, also after all of it was lost.

Owns the reading of the command line and the output. It opens the repository itself, so it is typed on a machine of the
repository's worker group.
"""

import getpass
import uuid
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from repositories.engine.display import show_count, show_text
from repositories.models import Repository
from repositories.selectors import repositories_visible
from syncova_project.errors import SyncovaError
from workers.reindexing import Reindexed, reindex

_MOST_SHOWN: Final = 20


class Command(BaseCommand):
    """Index one repository again, or all of them."""

    help = (
        "Rebuild the catalogue of a repository from the repository alone. After the database was restored from a dump "
        "this also takes the repository over again, so that backups, deletions and plans may go on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare which."""
        parser.add_argument("repository", nargs="?", metavar="REPOSITORY", help="its name or id")
        parser.add_argument("--all", action="store_true", help="every repository that is registered")

    def handle(self, *args: Any, **options: Any) -> None:
        """Index each, and go on past one that fails."""
        rows = _chosen(options["repository"], every=options["all"])
        failed = [row for row in rows if not self._index(row)]
        if failed:
            names = ", ".join(show_text(row.name) for row in failed)
            raise CommandError(f"not indexed: {names}", returncode=1)

    def _index(self, row: Repository) -> bool:
        try:
            done = reindex(row.id, actor=f"command:{getpass.getuser()}")
        except SyncovaError as error:
            self.stderr.write(show_text(f"{row.name}: {error.message} {error.hint}".rstrip()))
            return False
        for line in _lines(done):
            self.stdout.write(f"{show_text(row.name)}: {line}")
        return True


def _chosen(name: str | None, *, every: bool) -> list[Repository]:
    if every == (name is not None):
        raise CommandError("say which: REPOSITORY, or --all", returncode=2)
    rows = [row for row in repositories_visible() if every or name in {str(row.id), row.name}]
    if not rows and not every:
        raise CommandError(f"there is no repository {show_text(name or '')}; see: ./syncova ctl repository list")
    return rows


def _lines(done: Reindexed) -> list[str]:
    rebuilt, reconciled = done.rebuilt, done.reconciled
    lines = [f"{show_count(rebuilt.added, 'backup')} added, {rebuilt.kept} kept, {rebuilt.removed} gone"]
    lines += [_gone(*each) for each in rebuilt.gone[:_MOST_SHOWN]]
    if rebuilt.removed > _MOST_SHOWN:
        lines.append(f"gone: {rebuilt.removed - _MOST_SHOWN:,} more; each run's events tell its own")
    if done.taken_over:
        lines.append(f"taken over: this database is its control plane in epoch {done.epoch}")
    if reconciled.runs_ended or reconciled.schedules_moved:
        ended, moved = show_count(reconciled.runs_ended, "run"), show_count(reconciled.schedules_moved, "schedule")
        lines.append(f"{ended} of the dump ended as OUTCOME_LOST, {moved} moved past what ran since")
    if reconciled.late:
        lines.append(f"{show_count(reconciled.late, 'backup')} completed after their run had ended: shown as late")
    left_out = len(rebuilt.refused) + done.unreadable
    if left_out:
        lines.append(f"{show_count(left_out, 'backup')} left out, since they cannot be read or make no sense")
    return lines


def _gone(backup_id: str, run_id: uuid.UUID | None) -> str:
    return f"gone: {show_text(backup_id)}" + (f" (of run {run_id})" if run_id else "")
