"""`manage drain`: workers finish what they do and take nothing new, before their machine is restarted or changed (6.5).

Owns the reading of the command line and the output. What runs goes on to its end; nothing is cancelled.
"""

import getpass
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from jobs.database_time import database_now
from jobs.models import WorkerProcess
from jobs.services.draining import runs_left, workers_drain
from repositories.engine.display import show_text
from syncova_project import clock
from syncova_project.errors import SyncovaError

_PAUSE_SECONDS = 1.0


class Command(BaseCommand):
    """Drain worker processes by group, by host or both."""

    help = (
        "Let workers take no new runs; what they do goes on to its end. It holds until the worker is started anew, or "
        "until --undo. Other workers of the group take what waits."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare who is meant and how long to wait."""
        parser.add_argument("--group", metavar="NAME", help="workers of this group")
        parser.add_argument("--host", metavar="NAME", help="workers on this host, as --list shows it")
        parser.add_argument("--undo", action="store_true", help="let them take runs again")
        parser.add_argument("--wait", type=int, metavar="SECONDS", help="until nothing runs there, at most so long")
        parser.add_argument("--list", action="store_true", help="show who is there, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Drain, say who, and wait where that is asked for."""
        if options["list"]:
            self._list()
            return
        chosen = {"group": options["group"], "host": options["host"]}
        if not any(chosen.values()):
            raise CommandError("say who: --group NAME, --host NAME or both; see --list", returncode=2)
        try:
            rows = workers_drain(
                **chosen, drain=not options["undo"], actor=f"command:{getpass.getuser()}", now=database_now()
            )
        except SyncovaError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        for row in rows:
            self.stdout.write(f"{row.runner.name} {_shown(row)}: {'takes runs again' if options['undo'] else 'drains'}")
        if options["wait"] is not None and not options["undo"]:
            self._wait(chosen, options["wait"])

    def _wait(self, chosen: dict[str, str | None], seconds: int) -> None:
        end = clock.monotonic() + seconds
        while (left := runs_left(**chosen)) and clock.monotonic() < end:
            clock.sleep(_PAUSE_SECONDS)
        if left:
            raise CommandError(f"{left} runs go on after {seconds} s; they stay drained, ask again", returncode=11)
        self.stdout.write("nothing runs there any more")

    def _list(self) -> None:
        for row in WorkerProcess.objects.select_related("runner").order_by("runner__name", "host", "process_id"):
            state = "shuts down" if row.draining else "drains" if row.drain_requested else f"{row.slots} slots"
            self.stdout.write(f"{row.runner.name} {_shown(row)}: {state}, seen {row.last_seen:%Y-%m-%d %H:%M:%S} UTC")


def _shown(row: WorkerProcess) -> str:
    return show_text(f"{row.host}:{row.process_id}")
