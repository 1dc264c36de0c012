"""`manage simulate_schedules`: which nights will not fit their windows, and which runs will wait for what (5.10).

Owns the command line and the words. The playing is jobs.simulation, the reading jobs.services.simulations.
"""

import datetime as dt
import json
import uuid
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from jobs import calendar
from jobs.calendar.durations import words
from jobs.database_time import database_now
from jobs.models import Runner
from jobs.services.simulations import Assumptions, Forecast, forecast
from jobs.simulation import Misfit, SimulatedJob, SimulatedRun
from jobs.states import HeldCode, Priority
from repositories.engine.display import show_text
from repositories.models import Repository
from syncova_project.instants import instant

MOST_DAYS: Final = 366
# Lines of one job under a heading: a job of every minute may have thousands.
MOST_TOLD: Final = 10
_ADDED: Final = {"name", "repository", "schedule", "duration_seconds"}


class Command(BaseCommand):
    """Play the next days."""

    help = "Tell which runs of the next days will not fit their windows, and what they will wait for."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the stretch of time and what is assumed."""
        parser.add_argument("--days", type=int, default=7, metavar="N", help=f"how far, 1 to {MOST_DAYS} (7)")
        parser.add_argument("--slots", type=int, metavar="N", help="slots of each worker group (those of live workers)")
        parser.add_argument("--unknown-minutes", type=int, default=60, metavar="N", help="for jobs never run (60)")
        parser.add_argument(
            "--add",
            action="append",
            default=[],
            metavar="JSON",
            help='a job to try: {"name": …, "repository": …, "schedule": {…}, "duration_seconds": …}',
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, play, print."""
        for name, least, most in (("days", 1, MOST_DAYS), ("slots", 1, 10_000), ("unknown_minutes", 1, 100_000)):
            value = options[name]
            if value is not None and not least <= value <= most:
                raise CommandError(f"{name}: must be from {least} to {most}, not {value}.", returncode=2)
        now = database_now()
        try:
            added = [_added(text, now) for text in options["add"]]
        except calendar.ScheduleInvalidError as error:
            message = error.message if error.field == "add" else f"add: {error.message}"
            raise CommandError(message, returncode=2) from error
        unknown = dt.timedelta(minutes=options["unknown_minutes"])
        found = forecast(options["days"], Assumptions(unknown, options["slots"], added), now=now)
        lines = [json.dumps(_as_json(found))] if options["json"] else _as_text(found, options["days"], unknown)
        self.stdout.write("\n".join(lines))


def _added(text: str, now: dt.datetime) -> SimulatedJob:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if isinstance(given, Mapping) and (unknown := sorted(set(given) - _ADDED)):
        told = f"{show_text(', '.join(unknown))} is nothing that it has: {', '.join(sorted(_ADDED))}."
        raise calendar.ScheduleInvalidError("add", told)
    if not isinstance(given, Mapping) or set(given) != _ADDED:
        raise calendar.ScheduleInvalidError("add", f"must be a JSON object with {', '.join(sorted(_ADDED))}.")
    repository = Repository.objects.filter(name__iexact=str(given["repository"])).first()
    if repository is None:
        raise calendar.ScheduleInvalidError("repository", "there is no repository of this name.")
    seconds = given["duration_seconds"]
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 < seconds <= 366 * 86400:
        raise calendar.ScheduleInvalidError("duration_seconds", "must be a whole number greater than 0.")
    group = Runner.objects.filter(kind="group", name__iexact=repository.worker_group).first()
    return SimulatedJob(
        id=uuid.uuid4(),
        name=str(given["name"]),
        plans=[calendar.parse_new(given["schedule"], now=now)],
        duration=dt.timedelta(seconds=seconds),
        priority=Priority.NORMAL,
        repository_id=repository.id,
        repository_name=repository.name,
        repository_limit=1 if repository.serial_gate else repository.max_concurrent_runs,
        runner_id=group.id if group else uuid.uuid4(),
        group=repository.worker_group,
    )


def _as_json(found: Forecast) -> dict[str, Any]:
    played = found.simulation
    return {
        "runs": [_run_json(run) for run in played.runs],
        "misfits": [
            {
                **_run_json(misfit.run),
                "over_seconds": int(misfit.over.total_seconds()),
                "crowded_out": misfit.crowded_out,
            }
            for misfit in played.misfits
        ],
        "without_free_instant": [{"job": job.name, "planned": instant(at)} for job, at in played.stuck],
        "guessed_durations": list(found.guessed),
        "is_cut": played.is_cut,
    }


def _run_json(run: SimulatedRun) -> dict[str, Any]:
    return {
        "job": run.job.name,
        "planned": instant(run.planned),
        "starts": instant(run.starts_at),
        "ends": instant(run.ends_at),
        "merged_instants": run.merged,
        "waits": [
            {"code": wait.held.code, "subject": wait.held.subject, "seconds": int(wait.length.total_seconds())}
            for wait in run.waits
        ],
    }


def _as_text(found: Forecast, days: int, unknown: dt.timedelta) -> list[str]:
    played = found.simulation
    lines = [f"Runs within {words(days * 24 * 3600)}: {len(played.runs) or 'none'}."]
    if found.guessed:
        names = ", ".join(show_text(name) for name in found.guessed)
        lines.append(f"Never run, so taken to last {words(int(unknown.total_seconds()))}: {names}.")
    if played.is_cut:
        lines.append("There are too many runs to play them all: what comes later is left out.")
    lines.append(f"Runs that do not fit their windows: {len(played.misfits) or 'none'}.")
    lines += _capped([(misfit.run.job, _misfit_line(misfit)) for misfit in played.misfits])
    if played.stuck:
        lines.append(f"Instants for which windows leave no free start within 31 days: {len(played.stuck)}.")
        lines += _capped([(job, f"{show_text(job.name)}, planned {_at(at)}") for job, at in played.stuck])
    waiting = [run for run in played.runs if run.waits or run.starts_at is None]
    lines.append(f"Runs that wait: {len(waiting) or 'none'}.")
    return lines + _capped([(run.job, _wait_line(run)) for run in waiting])


def _capped(told: Sequence[tuple[SimulatedJob, str]]) -> list[str]:
    """Return the first lines of each job, in their order, and of how many more it has."""
    lines, counts, names = [], Counter[uuid.UUID](), {}
    for job, line in told:
        counts[job.id] += 1
        names[job.id] = job.name
        if counts[job.id] <= MOST_TOLD:
            lines.append(f"  {line}")
    more = [(names[job_id], count - MOST_TOLD) for job_id, count in counts.items() if count > MOST_TOLD]
    return lines + [f"  {show_text(name)}: {count:,} more, all with --json" for name, count in more]


def _misfit_line(misfit: Misfit) -> str:
    run, told = misfit.run, []
    if misfit.crowded_out:
        told.append("its first window passed before others made room")
    if misfit.over:
        told.append(f"it runs on {_long(misfit.over)} after its window has shut")
    return f"{_name(run)}, {_at(run.starts_at)} to {_at(run.ends_at)}: {'; '.join(told)}"


def _wait_line(run: SimulatedRun) -> str:
    told = [
        f"{_long(wait.length)} for {HeldCode(wait.held.code).label.lower()} {show_text(wait.held.subject)}".rstrip()
        for wait in run.waits
    ]
    if run.starts_at is None and run.held is not None:
        told.append(f"to the end for {HeldCode(run.held.code).label.lower()} {show_text(run.held.subject)}".rstrip())
    merged = f"; {run.merged} later instants merge into it" if run.merged else ""
    return f"{_name(run)}: {', then '.join(told)}{merged}"


def _name(run: SimulatedRun) -> str:
    return f"{show_text(run.job.name)}, planned {_at(run.planned)}"


def _at(moment: dt.datetime | None) -> str:
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC") if moment else "never"


def _long(length: dt.timedelta) -> str:
    """Return a length in words, to the minute where it is longer than one."""
    seconds = int(length.total_seconds())
    return words(seconds if seconds < 60 else seconds // 60 * 60)
