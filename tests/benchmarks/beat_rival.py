"""django-celery-beat under the load of `./syncova bench control`, run by an interpreter that has it.

Reads one JSON object (database, broker, number of tasks) from standard input and writes one to standard output. Owns
the rival's set-up: its own scheduler with its own settings, and celery's loop round it. Imports nothing of Syncova.
"""

import datetime as dt
import importlib
import importlib.metadata
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

_AHEAD_SECONDS, _IDLE_SECONDS, _LIMIT_SECONDS = 20, 60, 1800


def main() -> None:
    """Make the tasks, wait for their instant, count what is sent, then let a minute pass."""
    told = json.loads(sys.stdin.read())
    _set_up(told)
    from celery import Celery
    from celery.signals import after_task_publish
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    app = Celery("beat", broker=told["broker"].replace("redis+unix", "redis+socket"))
    app.conf.enable_utc, app.conf.timezone = True, "UTC"
    instant = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=_AHEAD_SECONDS)
    _fill(told["tasks"], instant)
    sent: list[float] = []

    def count(**_: Any) -> None:
        sent.append(time.time() - instant.timestamp())

    after_task_publish.connect(count)
    scheduler = _scheduler(app)
    _run(scheduler, lambda: len(sent) >= told["tasks"], _LIMIT_SECONDS)
    backend = _backend()
    process, before = time.process_time(), _cpu_seconds(backend)
    _run(scheduler, lambda: False, _IDLE_SECONDS)
    found = {
        "version": importlib.metadata.version("django-celery-beat"),
        "sent": len(sent),
        "first": min(sent, default=0.0),
        "last": max(sent, default=0.0),
        "idle_process": time.process_time() - process,
        "idle_backend": _cpu_seconds(backend) - before,
    }
    sys.stdout.write("\n" + json.dumps(found) + "\n")


def _set_up(told: dict[str, Any]) -> None:
    import django
    from django.conf import settings

    database = {"ENGINE": "django.db.backends.postgresql", "HOST": told["host"], "NAME": told["name"]}
    database |= {"USER": told["user"], "PASSWORD": told["password"]}
    settings.configure(
        SECRET_KEY="benchmark",
        INSTALLED_APPS=["django_celery_beat"],
        DATABASES={"default": database},
        USE_TZ=True,
        TIME_ZONE="UTC",
    )
    django.setup()


def _fill(tasks: int, instant: dt.datetime) -> None:
    models: Any = importlib.import_module("django_celery_beat.models")
    daily = models.IntervalSchedule.objects.create(every=1, period=models.IntervalSchedule.DAYS)
    models.PeriodicTask.objects.bulk_create(
        models.PeriodicTask(name=f"task {n}", task="backup", interval=daily, last_run_at=instant - dt.timedelta(days=1))
        for n in range(tasks)
    )
    models.PeriodicTasks.update_changed()


def _scheduler(app: Any) -> Any:
    schedulers: Any = importlib.import_module("django_celery_beat.schedulers")
    return schedulers.DatabaseScheduler(app=app, lazy=False)


def _run(scheduler: Any, is_done: Any, seconds: float) -> None:
    """Turn celery's loop: tick, sleep for as long as it says."""
    end = time.monotonic() + seconds
    while not is_done() and time.monotonic() < end:
        pause = scheduler.tick()
        if pause and pause > 0 and not is_done():
            time.sleep(min(pause, max(0.0, end - time.monotonic())))


def _backend() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def _cpu_seconds(process_id: int) -> float:
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
